import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isAbort, messageOf, UserError } from '../core/errors.ts'
import type { SandboxProvider } from '../core/sandbox.ts'
import { canonicalJson } from '../lib/digest-json.ts'
import { readTextIfExists, writeAtomic } from '../lib/files.ts'
import { mapInOrder } from '../lib/map-in-order.ts'
import { readJson } from '../lib/parse-json.ts'

/** One dataset that is to be made, among many that differ in their seed. */
export interface TaskGenerationSpec {
  readonly seed: number
  readonly outputDir: string
  readonly datasetPrefix: string
  readonly datasetIndex?: number
}

/** What became of a spec: `result.json` in its folder, or `error.json`. */
export interface TaskGenerationResult {
  readonly spec: TaskGenerationSpec
  readonly success: boolean
  readonly datasetDir: string | null
  readonly artifacts: Readonly<Record<string, unknown>>
  readonly errorPath: string | null
  readonly error: string | null
}

export interface SpecsToRun {
  readonly maxConcurrent: number
  /** Makes the dataset of one spec and gives its folder. */
  readonly generate: (
    spec: TaskGenerationSpec,
    at: { readonly sandboxes: SandboxProvider | null; readonly signal: AbortSignal },
  ) => Promise<{ readonly datasetDir: string; readonly artifacts?: Readonly<Record<string, unknown>> }>
  readonly sandboxes: SandboxProvider | null
  readonly signal: AbortSignal
  /** Where a summary of all specs is written, if anywhere. */
  readonly summaryFile?: string
  readonly onResult?: (result: TaskGenerationResult) => void
}

/**
 * Makes the datasets of specs, several at once. A spec that fails leaves an error file and its siblings go on; one that
 * has a result already is not run again. Results come in the order of the specs.
 */
export async function runSpecs(
  specs: readonly TaskGenerationSpec[],
  ask: SpecsToRun,
): Promise<readonly TaskGenerationResult[]> {
  refuseShared(specs)
  const results: TaskGenerationResult[] = []
  for await (const result of mapInOrder(specs, ask.maxConcurrent, (spec) => runSpec(spec, ask))) {
    results.push(result)
    ask.onResult?.(result)
  }
  if (ask.summaryFile !== undefined) {
    const succeeded = results.filter(({ success }) => success).length
    const summary = { schema: 'specs/1', specs: results.length, succeeded, failed: results.length - succeeded, results }
    await writeAtomic(ask.summaryFile, render(summary))
  }
  return results
}

async function runSpec(spec: TaskGenerationSpec, ask: SpecsToRun): Promise<TaskGenerationResult> {
  ask.signal.throwIfAborted()
  const resultPath = join(spec.outputDir, 'result.json')
  const errorPath = join(spec.outputDir, 'error.json')
  const before = parseResult(await readTextIfExists(resultPath), spec)
  if (before) return before
  await mkdir(spec.outputDir, { recursive: true })
  await rm(errorPath, { force: true })
  try {
    const { datasetDir, artifacts = {} } = await ask.generate(spec, ask)
    if ((await readdir(datasetDir)).length === 0) throw new Error(`expected a dataset in ${datasetDir}, found it empty`)
    const result = { spec, success: true, datasetDir, artifacts, errorPath: null, error: null }
    await writeAtomic(resultPath, render({ schema: 'spec-result/1', ...result }))
    return result
  } catch (error) {
    if (isAbort(error)) throw error
    const message = messageOf(error)
    const stack = error instanceof Error && !(error instanceof UserError) ? (error.stack ?? null) : null
    await writeAtomic(errorPath, render({ schema: 'spec-error/1', spec, error: message, stack }))
    return { spec, success: false, datasetDir: null, artifacts: {}, errorPath, error: message }
  }
}

/** What an earlier run left for exactly this spec. */
function parseResult(text: string | null, spec: TaskGenerationSpec): TaskGenerationResult | null {
  if (text === null) return null
  try {
    const { spec: of, datasetDir, artifacts } = Object(readJson(text))
    if (canonicalJson(of) !== canonicalJson(spec) || typeof datasetDir !== 'string') return null
    return { spec, success: true, datasetDir, artifacts: Object(artifacts), errorPath: null, error: null }
  } catch {
    return null
  }
}

function refuseShared(specs: readonly TaskGenerationSpec[]): void {
  const seen = new Set<string>()
  for (const { outputDir } of specs) {
    if (seen.has(outputDir))
      throw new UserError(`${outputDir}: expected a folder for each spec, got one for two`, 'give every spec its own')
    seen.add(outputDir)
  }
}

function render(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
