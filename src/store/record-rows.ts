import { crc32 } from 'node:zlib'
import type { TrialConfig } from '../core/job.ts'
import type { TrialRecord } from '../core/trial.ts'
import { type Column, makeColumn, readColumn } from '../lib/json-columns.ts'

/**
 * The start of the record schema's digest: records in an index were parsed when it was written and are not parsed
 * again. A test compares it with the schema. Changing the number invalidates all lines of older indexes.
 */
export const recordSchemaMark = 0x5a2952a0

/** What the trials of one agent share, without their per-trial settings; and what the trials of one task share. */
interface OfAgent extends Pick<TrialRecord, 'agent' | 'sandbox'> {
  readonly config: Omit<TrialConfig, 'task' | 'trialName'> & { readonly task: null; readonly trialName: null }
}
interface OfTask extends Pick<TrialRecord, 'task'> {
  readonly asked: TrialConfig['task']
}

/**
 * The rest of a record; of its config only the trial's name. Keys keep their order, so that a record is rendered as
 * before.
 */
interface Own extends Omit<TrialRecord, 'agent' | 'sandbox' | 'task' | 'config'> {
  readonly agent: null
  readonly sandbox: null
  readonly task: null
  readonly config: string
}

/** Splits a record, so that shared parts are written once. */
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

/** A record on its way into an index. */
export interface Row {
  readonly name: string
  /** The stamp of its files; every row has the same number of values. */
  readonly stamp: readonly number[]
  /** The shared parts, by the ids of their lines. */
  readonly ofAgent: string
  readonly ofTask: string
  readonly own: Own
}

/** A line with a part that many records share. */
export function renderPart(id: string, value: string): Buffer {
  return renderLine(`part\t${id}\t${value}`)
}

/** A line with many records. */
export function renderRows(rows: readonly Row[]): Buffer {
  const stamps = new Float64Array(rows.flatMap(({ stamp }) => stamp))
  const columns = {
    names: rows.map(({ name }) => name),
    ofAgents: makeColumn(rows.map(({ ofAgent }) => ofAgent)),
    ofTasks: makeColumn(rows.map(({ ofTask }) => ofTask)),
    owns: makeColumn(rows.map(({ own }) => own)),
  } satisfies Columns
  return renderLine(`rows\t${Buffer.from(stamps.buffer).toString('base64')}\t${JSON.stringify(columns)}`)
}

/** A line that begins with a checksum of the rest. */
export function renderLine(rest: string): Buffer {
  const bytes = Buffer.from(`${' '.repeat(sumChars)}\t${rest}\n`)
  bytes.write(sumOf(bytes.subarray(sumChars + 1, -1)), 'latin1')
  return bytes
}

interface Columns {
  readonly names: readonly string[]
  readonly ofAgents: Column
  readonly ofTasks: Column
  readonly owns: Column
}

/** Reads the lines of an index; each shared part is parsed once. */
export class RowReader {
  readonly #texts = new Map<string, string>()
  readonly #values = new Map<string, unknown>()

  /** The records of a line; none for a shared part; null for a line that is torn or was written by another version. */
  read(line: Buffer): WrittenRows | null {
    const rest = line.subarray(sumChars + 1)
    if (line[sumChars] !== tab || line.toString('latin1', 0, sumChars) !== sumOf(rest)) return null
    const second = rest.indexOf(tab) + 1
    const third = rest.indexOf(tab, second) + 1
    if (second === 0 || third === 0) return null
    const kind = rest.toString('latin1', 0, second - 1)
    const [cell, text] = [rest.toString('latin1', second, third - 1), rest.toString('utf8', third)]
    if (kind === 'rows') return this.#rows(cell, text)
    if (kind !== 'part') return null
    this.#texts.set(cell, text)
    return noRows
  }

  /** A line with the right checksum was written by this program, from records that are within the file limits. */
  #rows(base64: string, text: string): WrittenRows {
    const columns: Columns = JSON.parse(text)
    const bytes = new Uint8Array(Buffer.from(base64, 'base64'))
    const [ofAgent, ofTask, own] = [columns.ofAgents, columns.ofTasks, columns.owns].map(readColumn)
    return {
      names: columns.names,
      stamps: new Float64Array(bytes.buffer),
      record: (nth) => this.#join(ofAgent?.(nth), ofTask?.(nth), own?.(nth) as Own),
    }
  }

  #join(agentPart: unknown, taskPart: unknown, own: Own): TrialRecord | null {
    const ofAgent = this.#value<OfAgent>(String(agentPart))
    const ofTask = this.#value<OfTask>(String(taskPart))
    if (ofAgent === null || ofTask === null) return null
    const config = { ...ofAgent.config, task: ofTask.asked, trialName: own.config }
    return { ...own, agent: ofAgent.agent, sandbox: ofAgent.sandbox, task: ofTask.task, config }
  }

  #value<T>(id: string): T | null {
    const text = this.#texts.get(id)
    if (text === undefined) return null
    const value = (this.#values.get(id) ?? JSON.parse(text)) as T
    this.#values.set(id, value)
    return value
  }
}

/** Records that were written together. */
export interface WrittenRows {
  readonly names: readonly string[]
  /** The stamps of the first record, then those of the next, and so on. */
  readonly stamps: Float64Array
  /** The whole record; null if one of its shared parts is missing. */
  record(nth: number): TrialRecord | null
}

const noRows: WrittenRows = { names: [], stamps: new Float64Array(), record: () => null }

const sumChars = 8
const tab = 0x09

/** Detects torn or interleaved lines; no other program writes here. */
function sumOf(bytes: Uint8Array): string {
  return crc32(bytes, recordSchemaMark).toString(16).padStart(sumChars, '0')
}
