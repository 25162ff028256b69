import { crc32 } from 'node:zlib'
import type { TrialConfig } from '../core/job.ts'
import type { TrialRecord } from '../core/trial.ts'
import { parseJson, readJson } from '../lib/parse-json.ts'
import { recordSchemaDigest } from './trial-record.ts'

/** What the trials of one agent have in common, without what of the settings is a trial's own; and those of one task. */
interface OfAgent extends Pick<TrialRecord, 'agent' | 'sandbox'> {
  readonly config: Omit<TrialConfig, 'task' | 'trialName'> & { readonly task: null; readonly trialName: null }
}
interface OfTask extends Pick<TrialRecord, 'task'> {
  readonly asked: TrialConfig['task']
}

/** The rest of a record: of its config only the name of the trial. Keys stay in their order, so that a record is rendered as before. */
interface Own extends Omit<TrialRecord, 'agent' | 'sandbox' | 'task' | 'config'> {
  readonly agent: null
  readonly sandbox: null
  readonly task: null
  readonly config: string
}

/** Takes a record apart, so that what many share is written once. */
export function splitRecord(record: TrialRecord): {
  readonly own: Own
  readonly ofAgent: OfAgent
  readonly ofTask: OfTask
} {
  const { agent, sandbox, task, config } = record
  return {
    own: { ...record, agent: null, sandbox: null, task: null, config: config.trialName },
    ofAgent: { agent, sandbox, config: { ...config, task: null, trialName: null } },
    ofTask: { task, asked: config.task },
  }
}

/** The shared parts of the records in an index; each is parsed once. */
export class Parts {
  readonly #texts = new Map<string, string>()
  readonly #values = new Map<string, unknown>()

  add({ id, text }: PartLine): void {
    this.#texts.set(id, text)
  }

  /** The whole record of a line whose trial has not changed; null where a part of it is missing. */
  join(line: RowLine): TrialRecord | null {
    const ofAgent = this.#value<OfAgent>(line.ofAgent)
    const ofTask = this.#value<OfTask>(line.ofTask)
    if (ofAgent === null || ofTask === null) return null
    const own = readJson(line.own) as Own
    const config = { ...ofAgent.config, task: ofTask.asked, trialName: own.config }
    return Object.assign(own, { agent: ofAgent.agent, sandbox: ofAgent.sandbox, task: ofTask.task, config })
  }

  #value<T>(id: string): T | null {
    const text = this.#texts.get(id)
    if (text === undefined) return null
    const value = (this.#values.get(id) ?? readJson(text)) as T
    this.#values.set(id, value)
    return value
  }
}

/** Where a line begins with a sum of what follows. */
export function renderLine(cells: readonly string[]): string {
  const rest = cells.join('\t')
  return `${sumOf(rest)}\t${rest}\n`
}

interface PartLine {
  readonly kind: 'part'
  readonly id: string
  readonly text: string
}

interface RowLine {
  readonly kind: 'row'
  readonly name: string
  readonly stamp: string
  readonly ofAgent: string
  readonly ofTask: string
  readonly own: string
}

/** Null for a line that is torn, or that another version wrote. */
export function parseLine(text: string): PartLine | RowLine | null {
  const rest = text.slice(sumChars + 1)
  if (text[sumChars] !== '\t' || text.slice(0, sumChars) !== sumOf(rest)) return null
  const [kind, first = '', second = '', ofAgent = '', ofTask = '', own = ''] = rest.split('\t')
  if (kind === 'part') return { kind, id: first, text: second }
  return { kind: 'row', name: String(parseJson(first)), stamp: second, ofAgent, ofTask, own }
}

const sumChars = 8

let seed: number | undefined

/**
 * Tells lines that were torn, or mixed with others; no other program writes here. Records in an index were parsed when it was written,
 * and are not parsed again: another schema of records makes all lines foreign.
 */
function sumOf(text: string): string {
  seed ??= Number.parseInt(recordSchemaDigest().replace(/^.*:/, '').slice(0, 8), 16)
  return crc32(text, seed).toString(16).padStart(sumChars, '0')
}
