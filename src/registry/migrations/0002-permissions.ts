const open = ['agents']
const withFlag = ['datasets', 'models', 'benchmarks', 'sandbox_jobs']
const ofParent: Readonly<Record<string, string>> = {
  model_datasets: 'EXISTS (SELECT 1 FROM models m WHERE m.id = model_id)',
  dataset_sources: 'EXISTS (SELECT 1 FROM datasets d WHERE d.id = dataset_id)',
  sandbox_benchmark_tasks: 'EXISTS (SELECT 1 FROM benchmarks b WHERE b.id = benchmark_id)',
  sandbox_tasks: 'EXISTS (SELECT 1 FROM sandbox_benchmark_tasks t WHERE t.task_checksum = checksum)',
  sandbox_trials: 'EXISTS (SELECT 1 FROM sandbox_jobs j WHERE j.id = job_id)',
  sandbox_trial_model_usage: 'EXISTS (SELECT 1 FROM sandbox_jobs j WHERE j.id = job_id)',
}

/**
 * Access control in PostgreSQL: the role `anon` reads public rows and what belongs to them, `service_role` reads and
 * writes everything. Supabase has these roles; elsewhere they are created if the account may do so. A condition on a
 * parent only sees parents visible to the reader, so one flag decides for a whole run.
 */
export const permissions = `
${['anon', 'service_role'].map(makeRole).join('')}
REVOKE ALL ON registry_migrations FROM PUBLIC;
${grants('registry_migrations', 'true')}
${open.map((table) => grants(table, 'true')).join('')}
${withFlag.map((table) => grants(table, 'is_public = 1')).join('')}
${Object.entries(ofParent)
  .map(([table, condition]) => grants(table, condition))
  .join('')}
`

function makeRole(name: string): string {
  return `
DO $$ BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '${name}') THEN CREATE ROLE ${name} NOLOGIN; END IF;
EXCEPTION WHEN insufficient_privilege OR duplicate_object THEN NULL;
END $$;
`
}

/**
 * Grants for the roles that exist. Supabase's defaults give \`anon\` more than read access, so they are revoked first.
 */
export function grants(table: string, readable: string): string {
  return `
ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY;
CREATE POLICY ${table}_public_rows ON ${table} FOR SELECT USING (${readable});
DO $$ BEGIN
  IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'anon') THEN
    REVOKE ALL ON ${table} FROM anon;
    GRANT SELECT ON ${table} TO anon;
  END IF;
  IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'authenticated') THEN
    REVOKE ALL ON ${table} FROM authenticated;
    GRANT SELECT ON ${table} TO authenticated;
  END IF;
  IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'service_role') THEN
    GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO service_role;
    CREATE POLICY ${table}_service ON ${table} TO service_role USING (true) WITH CHECK (true);
  END IF;
END $$;
`
}
