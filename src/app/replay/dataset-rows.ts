import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { messageOf, UserError } from '../../core/errors.ts'
import { inputFiles } from '../../formats/input-files.ts'
import { SqlDatabase, sqlName, sqlText } from '../../lib/duckdb.ts'
import { kindAt, readTextIfExists } from '../../lib/files.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { isGlob } from '../../lib/path-glob.ts'
import { manifestFile } from '../../run/traces/publish-dir.ts'
import type { Choose } from './from-job.ts'
import { type NamedRow, nameRow, trialKey } from './from-rows.ts'

/**
 * The files of a dataset's rows: a file itself, those matching a glob, or those in its `data` or `jsonl` folder; none
 * if the path is not a dataset.
 */
export async function datasetFiles(path: string): Promise<readonly string[]> {
  const kind = await kindAt(path)
  if (kind === 'file') return [resolve(path)]
  if (kind === 'none' && isGlob(path)) return sameKind(await inputFiles(resolve(path), traceFiles), path)
  if (kind === 'none')
    throw new UserError(`${path}: expected a dataset or a job, found nothing there`, 'check the path')
  for (const [folder, ending] of [
    ['data', '.parquet'],
    ['jsonl', '.jsonl'],
    ['data', '.jsonl'],
  ] as const) {
    const names = await readdir(join(path, folder)).catch(() => [])
    const files = names.filter((name) => name.endsWith(ending)).sort()
    if (files.length > 0) return files.map((name) => resolve(path, folder, name))
  }
  return []
}

const traceFiles = { what: 'traces', pattern: /\.(parquet|jsonl)$/i, endings: '.parquet or .jsonl' }

function sameKind(files: readonly string[], path: string): readonly string[] {
  const isParquet = files.map((file) => /\.parquet$/i.test(file))
  if (isParquet.every((each) => each === isParquet[0])) return files
  throw new UserError(
    `${path}: expected files of one kind, found .parquet and .jsonl`,
    'end the pattern with one of these extensions',
  )
}

/** All rows of the chosen trials; for the others only names are read. */
export async function readDatasetRows(files: readonly string[], choose: Choose): Promise<readonly NamedRow[]> {
  const [first = ''] = files
  await using sql = await SqlDatabase.open({
    memoryMb: 1500,
    threads: 1,
    tempDir: join(tmpdir(), 'ot-agent-replay-sql'),
  })
  const list = `[${files.map((file) => sqlText(file)).join(', ')}]`
  const rows = first.endsWith('.parquet')
    ? `read_parquet(${list})`
    : `read_ndjson(${list}, maximum_object_size = 67108864)`
  const numbered = `(SELECT *, row_number() OVER () AS nth FROM ${rows})`
  const columns = (await explained(first, () => sql.rows(`DESCRIBE SELECT * FROM ${rows}`))).map(({ column_name }) =>
    String(column_name),
  )
  if (!columns.includes('conversations') && !columns.includes('messages'))
    throw new UserError(`${first}: expected a column of conversations, found ${columns.slice(0, 10).join(', ')}`, hint)
  const naming = ['id', 'job', 'trial_name', 'step', 'trace_source', 'episode'].filter((name) => columns.includes(name))
  const named = await sql.rows(`SELECT ${['nth', ...naming.map(sqlName)].join(', ')} FROM ${numbered} ORDER BY nth`)
  const trials = new Map<string, number[]>()
  for (const record of named) {
    const nth = Number(record.nth)
    const { job, trial } = nameRow(record, nth - 1)
    trials.set(trialKey(job, trial), [...(trials.get(trialKey(job, trial)) ?? []), nth])
  }
  const wanted = choose([...trials.values()], (numbers) => numbers.length).flat()
  if (wanted.length === 0) return []
  const whole = await sql.rows(
    `SELECT nth, to_json(t)::VARCHAR AS row FROM ${numbered} t WHERE nth IN (${wanted.join(', ')}) ORDER BY nth`,
  )
  return whole.map(({ nth, row }) => nameRow(parseJson(String(row)), Number(nth) - 1))
}

const hint = 'expected rows as `ot-agent traces export` or a recipe writes them'

async function explained<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const [reason = ''] = messageOf(error).split('\n')
    throw new UserError(`${file}: expected rows of traces, got ${reason.slice(0, 200)}`, hint)
  }
}

/** The manifest next to a dataset's files; a dataset whose conversations are only meant for reading is refused. */
export async function manifestOf([first = '']: readonly string[]): Promise<unknown> {
  const dir = dirname(dirname(first))
  const manifest = parseJson((await readTextIfExists(join(dir, manifestFile)).catch(() => null)) ?? '')
  const { form } = Object(Object(manifest).options)
  if (form !== 'readable') return manifest
  throw new UserError(
    `${dir}: expected what the model was sent and replied, found conversations in the readable form`,
    'export the job again with --form exact, or replay the job itself',
  )
}
