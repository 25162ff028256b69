/**
 * Which listener evaluates which model: a row is created when a model is first seen, and claimed with a lease that
 * expires.
 */
export const leases = `
CREATE TABLE evaluation_leases (
  model_id TEXT NOT NULL REFERENCES models (id) ON DELETE CASCADE,
  benchmark_id TEXT NOT NULL REFERENCES benchmarks (id) ON DELETE CASCADE,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'done', 'failed')),
  owner TEXT,
  attempts BIGINT NOT NULL DEFAULT 0,
  leased_until TEXT,
  retry_at TEXT,
  reason TEXT,
  updated_at TEXT NOT NULL,
  PRIMARY KEY (benchmark_id, model_id),
  CHECK (state <> 'running' OR (owner IS NOT NULL AND leased_until IS NOT NULL))
);
CREATE INDEX evaluation_leases_by_state ON evaluation_leases (benchmark_id, state);
`
