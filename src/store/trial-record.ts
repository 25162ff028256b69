import { type HostEnv, redactTrialConfig } from '../core/redact.ts'
import type { TrialRecord } from '../core/trial.ts'
import { parseJson } from '../lib/parse-json.ts'
import { trialRecordSchema } from './record-schema.ts'

/** The text of our own record of a trial, without secrets. */
export function renderTrialRecord(record: TrialRecord, host: HostEnv = process.env, indent = 2): string {
  return JSON.stringify({ ...record, config: redactTrialConfig(record.config, host) }, null, indent)
}

/** Our own record of a trial, or null when the text is none: cut short, or of another schema. */
export function parseTrialRecord(text: string): TrialRecord | null {
  const result = trialRecordSchema.safeParse(parseJson(text))
  return result.success ? result.data : null
}
