/** Which listener evaluates which model: a row is made when a model is seen, and taken with a lease that ends by itself. */
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
