import { type FileHandle, open } from 'node:fs/promises'
import { type AsyncBuffer, type FileMetaData, parquetMetadataAsync } from 'hyparquet'
import { z } from 'zod'
import { messageOf, UserError } from '../../core/errors.ts'
import type { TraceFacts } from '../../core/trace.ts'
import { codeOf } from '../../lib/files.ts'
import { boundaryOfCode } from '../harbor-job/blame.ts'
import { readParquetObjects } from '../task-parquet/read-objects.ts'

const text = z.string().nullish().default(null)
/** Third-party files may have lists here. */
const said = z.string().nullish().catch(null).default(null)
const count = z
  .union([z.number(), z.bigint().transform(Number)])
  .nullish()
  .default(null)

/** The columns that statistics use; Harbor's and third-party datasets may lack some. */
const factColumns = {
  id: z.string().nullish().catch(null).default(null),
  job: text,
  run_id: text,
  trial_name: text,
  task: text,
  agent: text,
  model: text,
  trace_source: text,
  result: text,
  reward: count,
  end: text,
  exit: text,
  boundary: text,
  turns: count,
  input_tokens: count,
  output_tokens: count,
  cost_usd: count,
  prompt_digest: text,
  step: text,
  system_effect: z.enum(['differ', 'same']).nullish().catch(null).default(null),
  context_messages: count,
  conversations: z
    .array(z.object({ role: text, content: said, from: said, value: said }).nullable())
    .nullish()
    .default(null),
}
const factsRow = z.object(factColumns)

/** A row group with larger conversations is not read into memory. */
const conversationsLimitBytes = 1n << 30n

/** A trace as statistics see it. */
export interface ReadTrace {
  readonly facts: TraceFacts
  /** What the row adds to earlier rows of its trial; empty unless requested. */
  readonly messages: readonly { readonly role: string; readonly content: string }[]
}

/**
 * Yields every row of a parquet file of traces, ours, Harbor's or any with these columns, with one row group in memory.
 */
export async function* readTraceFile(
  path: string,
  { messages = false }: { readonly messages?: boolean } = {},
): AsyncGenerator<ReadTrace, void, void> {
  const file = await openFile(path)
  try {
    const buffer = await bufferOf(file)
    const metadata = await explained(path, () => parquetMetadataAsync(buffer))
    let rowStart = 0
    for (const group of metadata.row_groups) {
      const rowEnd = rowStart + Number(group.num_rows)
      const columns = columnsToRead({ metadata, group, path, messages })
      const rows = await explained(path, () =>
        readParquetObjects({ file: buffer, metadata, columns, rowStart, rowEnd }),
      )
      for (const each of rows) {
        const row = parseRow(each, path)
        yield { facts: toFacts(row), messages: messages ? messagesOf(row) : [] }
      }
      rowStart = rowEnd
    }
  } finally {
    await file.close()
  }
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (codeOf(error) === undefined) throw error
    throw new UserError(`${path}: expected a readable parquet file, got ${codeOf(error)}`, hint)
  }
}

const hint = 'expected a parquet file of traces, as `ot-agent traces export` writes it'

async function bufferOf(file: FileHandle): Promise<AsyncBuffer> {
  const { size } = await file.stat()
  return {
    byteLength: size,
    slice: async (start, end = size) => {
      const bytes = new ArrayBuffer(Math.max(0, Math.min(end, size) - start))
      await file.read(new Uint8Array(bytes), 0, bytes.byteLength, start)
      return bytes
    },
  }
}

interface GroupToRead {
  readonly metadata: FileMetaData
  readonly group: FileMetaData['row_groups'][number]
  readonly path: string
  readonly messages: boolean
}

/** Conversations are only read if requested, or if nothing else tells the number of turns. */
function columnsToRead({ metadata, group, path, messages }: GroupToRead): string[] {
  const there = new Map<string, bigint>()
  for (const { meta_data: column } of group.columns) {
    const name = column?.path_in_schema[0]
    if (name !== undefined) there.set(name, (there.get(name) ?? 0n) + sizeOf(column?.total_uncompressed_size))
  }
  if (!there.has('conversations') && !there.has('trial_name')) {
    const found = metadata.schema.slice(1, 20).map(({ name }) => name)
    throw new UserError(`${path}: expected columns such as conversations and result, got ${found.join(', ')}`, hint)
  }
  const affordable = (there.get('conversations') ?? 0n) <= conversationsLimitBytes
  if (messages && !affordable)
    throw new UserError(`${path}: more than 1 GB of conversations in one row group`, 'write smaller row groups')
  const wanted = Object.keys(factColumns).filter((name) => there.has(name))
  return wanted.filter((name) => name !== 'conversations' || messages || (!there.has('turns') && affordable))
}

async function explained<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new UserError(`${path} cannot be read as parquet: ${messageOf(error)}`, hint)
  }
}

function parseRow(row: unknown, path: string): z.output<typeof factsRow> {
  const parsed = factsRow.safeParse(row)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw new UserError(`${path}: column ${issue?.path.join('.')}: ${issue?.message}`, hint)
}

/** A recipe's datasets name a trial only in a row's id: JOB/TRIAL/SOURCE/EPISODE. */
function trialIn(id: string | null): string {
  return /^(.+?)(?:\/[^/]+\/episode-\d+)?$/.exec(id ?? '')?.[1] ?? 'unknown'
}

function messagesOf({ conversations, context_messages: context }: z.output<typeof factsRow>): ReadTrace['messages'] {
  return (conversations ?? []).slice(context ?? 0).map((message) => ({
    role: message?.role ?? message?.from ?? 'unknown',
    content: message?.content ?? message?.value ?? '',
  }))
}

function toFacts(row: z.output<typeof factsRow>): TraceFacts {
  const code = row.result !== null && Number.isNaN(Number(row.result)) ? row.result : null
  const stopped = code === 'AgentTimeoutError' || code === 'NonZeroAgentExitCodeError'
  const spoken = row.conversations?.filter((message) =>
    /^(assistant|gpt)$/.test(message?.role ?? message?.from ?? ''),
  ).length
  return {
    job: row.job ?? row.run_id ?? 'unknown',
    trial: row.trial_name ?? trialIn(row.id),
    task: row.task ?? 'unknown',
    agent: row.agent ?? 'unknown',
    model: row.model ?? 'unknown',
    traceSource: row.trace_source ?? 'main',
    result: row.result,
    reward: row.reward ?? (row.result === null || code !== null ? null : Number(row.result)),
    end: row.end ?? (code === null || stopped ? 'scored' : code === 'CancelledError' ? 'cancelled' : 'failed'),
    exit: row.exit ?? (code === 'AgentTimeoutError' ? 'time' : stopped ? 'exited' : null),
    boundary: row.boundary ?? (row.end === null && code !== null && !stopped ? boundaryOfCode(code) : null),
    turns: row.turns ?? spoken ?? null,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    costUsd: row.cost_usd,
    promptDigest: row.prompt_digest,
    step: row.step,
    systemEffect: row.system_effect,
  }
}

/** A damaged file may have anything in place of a size. */
function sizeOf(value: unknown): bigint {
  return typeof value === 'bigint' ? value : 0n
}
