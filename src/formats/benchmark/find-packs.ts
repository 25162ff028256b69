import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { kindAt } from '../../lib/files.ts'
import {
  findBenchmark,
  type KnownBenchmark,
  loadBenchmarks,
  ownBenchmarks,
  shippedBenchmarks,
} from '../known-benchmarks.ts'
import { readRecords } from '../records/read-records.ts'
import { type BenchmarkText, makePack, type Pack } from './pack.ts'
import { loadPack, packEnding, readPackHeader } from './pack-file.ts'

/** Which packs are wanted, and where to look first. */
export interface PacksAsk {
  /** Names of benchmarks, or paths of packs. */
  readonly benchmarks: readonly string[]
  /** Benchmarks whose pack may be missing. */
  readonly waive?: readonly string[] | undefined
  /** A folder to search before ./benchmarks and the package's own. */
  readonly packs?: string | undefined
  /** The folder that relative paths start from. */
  readonly cwd?: string | undefined
}

/** A pack that exists. */
export interface FoundPack {
  /** The name or path requested. */
  readonly asked: string
  /** The pack's benchmark, which may be a different one that covers the requested one. */
  readonly benchmark: string
  readonly file: string
}

/** A requested pack that does not exist. */
export interface MissingPack {
  readonly benchmark: string
  readonly looked: readonly string[]
  /** The command that provides it. */
  readonly command: string
  /** Why it is not part of the package, if known. */
  readonly why?: string | undefined
}

/** Finds packs by name, without reading them. */
export async function findPacks(ask: PacksAsk): Promise<{
  readonly found: readonly FoundPack[]
  readonly missing: readonly MissingPack[]
  readonly waived: readonly string[]
}> {
  const known = await loadBenchmarks(ask.cwd)
  const found: FoundPack[] = []
  const missing: MissingPack[] = []
  const waived: string[] = []
  for (const asked of ask.benchmarks) {
    const place = await findPack(asked, ask, known)
    if ('file' in place) found.push(place)
    else if (ask.waive?.includes(asked)) waived.push(asked)
    else missing.push(place)
  }
  return { found, missing, waived }
}

/**
 * Requested packs that are missing and not waived; reads only the first line of existing ones, and refuses one of
 * another benchmark.
 */
export async function missingPacks(ask: PacksAsk): Promise<readonly MissingPack[]> {
  const { found, missing } = await findPacks(ask)
  for (const pack of found)
    if (pack.file.endsWith(packEnding)) refuseOther(pack, (await readPackHeader(pack.file)).benchmark)
  return missing
}

/** The error for a missing pack. */
function missingPackError({ benchmark, looked, command, why }: MissingPack): UserError {
  return new UserError(
    `decontamination: expected a pack of ${benchmark}, found none${why === undefined ? '' : ` (${why})`}; looked for ${looked.join(', ')}`,
    `build it with ${command}, or skip this benchmark explicitly with waive: ['${benchmark}']`,
  )
}

/** A pack in memory, with a digest of its content. */
export interface LoadedPack extends FoundPack {
  readonly pack: Pack
  readonly digest: string
}

/**
 * Reads packs; the first one that is missing, damaged or of another benchmark is a UserError. Plain texts (.jsonl) are
 * hashed on the fly.
 */
export async function loadPacks(
  ask: PacksAsk & { readonly words: number },
): Promise<{ readonly packs: readonly LoadedPack[]; readonly waived: readonly string[] }> {
  const { found, missing, waived } = await findPacks(ask)
  const [first] = missing
  if (first) throw missingPackError(first)
  const packs: LoadedPack[] = []
  for (const each of found) packs.push({ ...each, ...(await readFound(each, ask.words)) })
  return { packs, waived }
}

async function readFound(found: FoundPack, words: number): Promise<{ pack: Pack; digest: string }> {
  const { file, benchmark } = found
  if (!file.endsWith(packEnding)) {
    const texts = await readTexts(file)
    return { pack: makePack(benchmark, texts, words), digest: hash('sha256', await readFile(file)) }
  }
  const { header, pack } = await loadPack(file)
  refuseOther(found, header.benchmark)
  if (words < header.words)
    throw new UserError(
      `${file}: expected sequences of ${words} words, found sequences of ${header.words}`,
      `set words to ${header.words} or more, or build a pack with --words ${words}`,
    )
  return { pack, digest: header.sha256 }
}

function refuseOther({ asked, benchmark, file }: FoundPack, held: string): void {
  if (isPackPath(asked) || benchmark === held) return
  throw new UserError(
    `${file}: expected a pack of ${benchmark}, found one of ${held}`,
    `build the right one with ot-agent benchmarks pack ${benchmark}`,
  )
}

async function findPack(
  asked: string,
  { packs, cwd = process.cwd() }: PacksAsk,
  known: readonly KnownBenchmark[],
): Promise<FoundPack | MissingPack> {
  if (isPackPath(asked)) return findFile(asked, cwd)
  const benchmark = findBenchmark(known, asked)
  const name = benchmark?.name ?? asked
  const covering = benchmark?.decontamination.coveredBy
  const dirs = [...new Set([...(packs === undefined ? [] : [packs]), ownBenchmarks, shippedBenchmarks])]
  const looked: string[] = []
  for (const each of covering === undefined ? [name] : [name, covering])
    for (const dir of dirs)
      for (const ending of [packEnding, '.jsonl']) {
        const file = resolve(cwd, join(dir, `${each}${ending}`))
        if ((await kindAt(file)) === 'file') return { asked, benchmark: each, file }
        if (ending === packEnding && dir !== shippedBenchmarks) looked.push(join(dir, `${each}${ending}`))
      }
  const from = benchmark && benchmark.sources.length + benchmark.texts.length > 0 ? '' : ' --from TASKS'
  return {
    benchmark: asked,
    looked,
    command: `ot-agent benchmarks pack ${name}${from}`,
    why: benchmark?.decontamination.unavailable,
  }
}

async function findFile(asked: string, cwd: string): Promise<FoundPack | MissingPack> {
  const file = resolve(cwd, asked)
  if ((await kindAt(file)) !== 'file')
    return { benchmark: asked, looked: [asked], command: `ot-agent benchmarks pack NAME --from TASKS -o ${asked}` }
  const benchmark = file.endsWith(packEnding) ? (await readPackHeader(file)).benchmark : asked
  return { asked, benchmark, file }
}

/** Whether a benchmark is given by the path of its pack. */
export function isPackPath(asked: string): boolean {
  return asked.includes('/') || asked.endsWith(packEnding) || asked.endsWith('.jsonl')
}

const lineSchema = z.object({ id: z.string(), instruction: z.string().min(1) })

async function readTexts(file: string): Promise<readonly BenchmarkText[]> {
  const texts: BenchmarkText[] = []
  for await (const row of readRecords(file)) {
    const parsed = lineSchema.safeParse('fields' in row ? row.fields : undefined)
    if (!parsed.success)
      throw new UserError(
        `${file}: ${row.where} is not a benchmark task`,
        'each line must be a JSON object with the strings `id` and `instruction`',
      )
    texts.push(parsed.data)
  }
  if (texts.length === 0)
    throw new UserError(`${file}: expected tasks, found none`, 'write one line of JSON for each task')
  return texts
}
