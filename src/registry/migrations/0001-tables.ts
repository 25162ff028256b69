/**
 * The nine tables of OpenThoughts-Agent's database, corrected, plus two that join them. Every statement means the same
 * in SQLite and PostgreSQL: ids, times (ISO 8601, UTC) and JSON are text, booleans are 0 or 1.
 */
export const tables = `
CREATE TABLE datasets (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  dataset_type TEXT NOT NULL CHECK (dataset_type IN ('tasks', 'SFT', 'RL')),
  generation_status TEXT NOT NULL CHECK (generation_status IN ('started', 'finished', 'failed')),
  data_location TEXT,
  recipe_name TEXT,
  recipe_digest TEXT,
  data_generation_hash TEXT,
  generation_parameters TEXT,
  hf_commit_hash TEXT,
  num_tasks BIGINT,
  num_rows BIGINT,
  created_by TEXT,
  creation_time TEXT,
  is_public INTEGER NOT NULL DEFAULT 0 CHECK (is_public IN (0, 1)),
  updated_at TEXT NOT NULL
);

CREATE TABLE agents (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  version TEXT NOT NULL,
  description TEXT,
  updated_at TEXT NOT NULL,
  UNIQUE (name, version)
);

CREATE TABLE models (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  base_model_id TEXT REFERENCES models (id),
  agent_id TEXT REFERENCES agents (id),
  training_status TEXT NOT NULL CHECK (training_status IN ('external', 'started', 'finished', 'failed')),
  training_type TEXT CHECK (training_type IN ('SFT', 'RL')),
  training_run TEXT,
  training_start TEXT,
  training_end TEXT,
  training_parameters TEXT,
  weights_location TEXT,
  wandb_link TEXT,
  created_by TEXT,
  creation_time TEXT,
  description TEXT,
  is_public INTEGER NOT NULL DEFAULT 0 CHECK (is_public IN (0, 1)),
  updated_at TEXT NOT NULL
);

CREATE TABLE model_datasets (
  model_id TEXT NOT NULL REFERENCES models (id) ON DELETE CASCADE,
  dataset_name TEXT NOT NULL,
  position BIGINT NOT NULL,
  PRIMARY KEY (model_id, dataset_name)
);
CREATE INDEX model_datasets_by_name ON model_datasets (dataset_name);

CREATE TABLE benchmarks (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  version TEXT NOT NULL,
  is_external INTEGER NOT NULL DEFAULT 1 CHECK (is_external IN (0, 1)),
  external_link TEXT,
  description TEXT,
  is_public INTEGER NOT NULL DEFAULT 0 CHECK (is_public IN (0, 1)),
  updated_at TEXT NOT NULL,
  UNIQUE (name, version)
);

CREATE TABLE sandbox_tasks (
  checksum TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  source TEXT,
  digest TEXT,
  path TEXT,
  git_url TEXT,
  git_commit_id TEXT,
  created_at TEXT NOT NULL
);
CREATE INDEX sandbox_tasks_by_name ON sandbox_tasks (name);

CREATE TABLE sandbox_benchmark_tasks (
  benchmark_id TEXT NOT NULL REFERENCES benchmarks (id) ON DELETE CASCADE,
  task_checksum TEXT NOT NULL REFERENCES sandbox_tasks (checksum) ON DELETE CASCADE,
  PRIMARY KEY (benchmark_id, task_checksum)
);
CREATE INDEX sandbox_benchmark_tasks_by_task ON sandbox_benchmark_tasks (task_checksum);

CREATE TABLE dataset_sources (
  dataset_id TEXT NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('task', 'dataset', 'job', 'model', 'source')),
  name TEXT NOT NULL,
  PRIMARY KEY (dataset_id, kind, name)
);
CREATE INDEX dataset_sources_by_name ON dataset_sources (kind, name);

CREATE TABLE sandbox_jobs (
  id TEXT PRIMARY KEY,
  source_id TEXT NOT NULL,
  job_name TEXT NOT NULL,
  job_status TEXT NOT NULL CHECK (job_status IN ('started', 'partial', 'finished')),
  agent_id TEXT NOT NULL REFERENCES agents (id),
  model_id TEXT REFERENCES models (id),
  benchmark_id TEXT NOT NULL REFERENCES benchmarks (id),
  location TEXT,
  username TEXT,
  package_version TEXT,
  config TEXT,
  hf_traces_link TEXT,
  n_expected BIGINT,
  n_attempts BIGINT,
  n_tasks BIGINT,
  n_trials BIGINT,
  n_scored BIGINT,
  n_failed BIGINT,
  n_cancelled BIGINT,
  accuracy DOUBLE PRECISION,
  accuracy_stderr DOUBLE PRECISION,
  accuracy_all DOUBLE PRECISION,
  cost_usd DOUBLE PRECISION,
  started_at TEXT NOT NULL,
  ended_at TEXT,
  is_public INTEGER NOT NULL DEFAULT 0 CHECK (is_public IN (0, 1)),
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  CHECK (job_status = 'started' OR n_trials IS NOT NULL)
);
CREATE INDEX sandbox_jobs_by_result ON sandbox_jobs (benchmark_id, model_id, agent_id);
CREATE INDEX sandbox_jobs_by_source ON sandbox_jobs (source_id);

CREATE TABLE sandbox_trials (
  job_id TEXT NOT NULL REFERENCES sandbox_jobs (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  trial_name TEXT NOT NULL,
  task_checksum TEXT NOT NULL REFERENCES sandbox_tasks (checksum),
  attempt BIGINT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('scored', 'failed', 'cancelled')),
  reward DOUBLE PRECISION,
  rewards TEXT,
  agent_exit TEXT,
  boundary TEXT,
  exception_type TEXT,
  exception_message TEXT,
  retries BIGINT NOT NULL,
  started_at TEXT NOT NULL,
  ended_at TEXT NOT NULL,
  environment_setup_started_at TEXT,
  environment_setup_ended_at TEXT,
  agent_setup_started_at TEXT,
  agent_setup_ended_at TEXT,
  agent_execution_started_at TEXT,
  agent_execution_ended_at TEXT,
  verifier_started_at TEXT,
  verifier_ended_at TEXT,
  superseded_at TEXT,
  created_at TEXT NOT NULL,
  PRIMARY KEY (job_id, id),
  CHECK (state = 'scored' OR reward IS NULL),
  CHECK ((state = 'failed') = (boundary IS NOT NULL))
);
-- No other index begins with job_id: PostgreSQL would check the reference of each usage by reading all trials of the job.
CREATE INDEX sandbox_trials_by_task ON sandbox_trials (task_checksum);

CREATE TABLE sandbox_trial_model_usage (
  job_id TEXT NOT NULL,
  trial_id TEXT NOT NULL,
  model_id TEXT NOT NULL REFERENCES models (id),
  model_provider TEXT NOT NULL,
  n_input_tokens BIGINT,
  n_cache_tokens BIGINT,
  n_output_tokens BIGINT,
  cost_usd DOUBLE PRECISION,
  created_at TEXT NOT NULL,
  PRIMARY KEY (job_id, trial_id, model_id, model_provider),
  FOREIGN KEY (job_id, trial_id) REFERENCES sandbox_trials (job_id, id) ON DELETE CASCADE
);
`
