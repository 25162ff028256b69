import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { agentRecord, fixtureTrial, someTrajectory, trialFile } from '../../../test/traces.ts'
import { makeTraces, type TraceOptions } from './make-traces.ts'
import { columnsOf, type TraceRow } from './row.ts'
import { rowBytes, ShardedTraces } from './shards.ts'
import { TraceParquetWriter } from './write-parquet.ts'

let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'ot-traces-'))
})
afterAll(() => rm(dir, { recursive: true, force: true }))

const options: TraceOptions = {
  form: 'readable',
  reasoning: 'column',
  episodes: 'all',
  filter: 'all',
  subagents: 'separate',
  turns: 'alternate',
  sharegpt: true,
}

function rowsOf(steps: readonly object[]): TraceRow[] {
  const files = [trialFile('trajectory.json', someTrajectory({ steps }))]
  return [...makeTraces({ job: 'j', record: agentRecord(), files }, options)].flatMap((trace) =>
    'row' in trace ? [trace.row] : [],
  )
}

async function writeAndRead(rows: readonly TraceRow[]): Promise<unknown[]> {
  const path = join(dir, 'rows.parquet')
  const file = await open(path, 'w')
  const writer = new TraceParquetWriter(
    columnsOf(['conversations_sharegpt']),
    async (bytes) => void (await file.writeFile(bytes)),
  )
  for (const row of rows) await writer.add(row, rowBytes(row))
  await writer.finish()
  await file.close()
  const read = await parquetReadObjects({ file: await asyncBufferFromFile(path) })
  return read.map((row) => ({
    ...row,
    input_tokens: asNumber(row.input_tokens),
    output_tokens: asNumber(row.output_tokens),
  }))
}

function asNumber(value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}

const hostile = fc.oneof(
  fc.string({ unit: fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code)) }),
  fc.string({
    unit: fc.constantFrom('\0', '\u001b[2J', '\ud800', '\udc00', '\r\n', '\u202e', '"', '\\', '</think>', '😀'),
  }),
)
const step = fc.oneof(
  fc.record({ source: fc.constantFrom('user', 'system'), message: hostile }),
  fc.record({
    source: fc.constant('agent'),
    message: hostile,
    reasoning_content: hostile,
    tool_calls: fc.array(fc.record({ function_name: hostile, arguments: fc.dictionary(hostile, hostile) }), {
      maxLength: 2,
    }),
    observation: fc.record({ results: fc.array(fc.record({ content: hostile }), { maxLength: 2 }) }),
  }),
)

test('what is written is what is read back, whatever an agent wrote', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
      const rows = rowsOf([{ source: 'user', message: 'Do it.' }, ...steps])
      expect(await writeAndRead(rows)).toEqual(rows)
    }),
    { numRuns: 60 },
  )
})

test('every conversation alternates from the user to the assistant, whatever the steps were', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
      for (const { conversations } of rowsOf([{ source: 'user', message: 'Do it.' }, ...steps])) {
        expect(conversations.map(({ role }) => role)).toEqual(
          conversations.map((_, i) => (i % 2 ? 'assistant' : 'user')),
        )
        expect(conversations.length % 2).toBe(0)
      }
    }),
  )
})

test('a message of 5 MB comes back whole', async () => {
  const message = `${'0123456789abcdeé'.repeat(320_000)}\0`
  const rows = rowsOf([
    { source: 'user', message: 'Do it.' },
    { source: 'agent', message, observation: { results: [{ content: message }] } },
    { source: 'agent', message: 'b' },
  ])
  expect(rows).toHaveLength(2)
  const read = await writeAndRead(rows)
  // Compare piece by piece, because a 5 MB diff is unreadable.
  expect(
    JSON.stringify(read) ===
      JSON.stringify(
        rows.map((row) => Object.fromEntries(columnsOf(['conversations_sharegpt']).map((name) => [name, row[name]]))),
      ),
  ).toBe(true)
})

test('rows go into row groups of bounded size', async () => {
  const message = 'x'.repeat(6 << 20)
  const rows = Array.from(
    { length: 6 },
    () =>
      rowsOf([
        { source: 'user', message },
        { source: 'agent', message: 'b' },
      ])[0]!,
  )
  const single = rows.map(({ conversations_sharegpt: _, ...row }) => ({ ...row, instruction: null }))
  const path = join(dir, 'groups.parquet')
  const file = await open(path, 'w')
  const writer = new TraceParquetWriter(columnsOf([]), async (bytes) => void (await file.writeFile(bytes)))
  for (const row of single) await writer.add(row, rowBytes(row))
  await writer.finish()
  await file.close()
  const { row_groups: groups } = await parquetMetadataAsync(await asyncBufferFromFile(path))
  expect(groups.map(({ num_rows }) => Number(num_rows))).toEqual([3, 3])
})

test('files are cut by rows, named when their number is known, and say what is in them', async () => {
  const rows = [...makeTraces(fixtureTrial('plain'), { ...options, sharegpt: false })].flatMap((trace) =>
    'row' in trace ? [trace.row] : [],
  )
  for (const format of ['parquet', 'jsonl'] as const) {
    const out = await mkdtemp(join(dir, 'shards-'))
    const shards = new ShardedTraces(out, format, { extra: [], shardRows: 2 })
    for (const row of rows) await shards.add(row, rowBytes(row))
    const files = await shards.finish()
    const folder = format === 'parquet' ? 'data' : 'jsonl'
    expect(files.map(({ path, rows }) => [path, rows])).toEqual([
      [`${folder}/train-00000-of-00002.${format}`, 2],
      [`${folder}/train-00001-of-00002.${format}`, 1],
    ])
    if (format !== 'jsonl') continue
    const lines = (await readFile(join(out, files[0]!.path), 'utf8')).trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line))).toEqual(rows.slice(0, 2))
  }
})

test('no rows make one empty file with every column', async () => {
  const out = await mkdtemp(join(dir, 'empty-'))
  const [file] = await new ShardedTraces(out, 'parquet', { extra: [], shardRows: null }).finish()
  expect(file).toMatchObject({ path: 'data/train-00000-of-00001.parquet', rows: 0 })
  const metadata = await parquetMetadataAsync(await asyncBufferFromFile(join(out, file!.path)))
  expect(metadata.schema.map(({ name }) => name)).toContain('prompt_digest')
  const features = JSON.parse(metadata.key_value_metadata!.find(({ key }) => key === 'huggingface')!.value!)
  expect(features.info.features.conversations).toEqual([
    { role: { dtype: 'string', _type: 'Value' }, content: { dtype: 'string', _type: 'Value' } },
  ])
})
