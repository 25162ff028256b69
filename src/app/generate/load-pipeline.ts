import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { recordFiles } from '../../formats/input-files.ts'
import { exists, namesIn } from '../../lib/files.ts'
import { nearest } from '../../lib/nearest.ts'
import { packageRoot } from '../../lib/package-root.ts'
import { shellQuote } from '../../lib/shell.ts'
import { loadImported } from '../../plugins/user-modules/load-imported.ts'
import { isPlugin } from '../../plugins/user-modules/make-imported.ts'
import { isClass, isObject } from '../../plugins/user-modules/pick-export.ts'
import { type DataGenerator, pipelineOfClass } from '../../run/pipeline/data-generator.ts'
import type { Pipeline } from '../../run/pipeline/pipeline.ts'
import type { RunnablePipeline } from '../../run/pipeline/run-generation.ts'
import { ownOptions } from './own-options.ts'

/** A loaded pipeline, and what its tasks depend on. */
export interface LoadedPipeline extends RunnablePipeline {
  /** The directory of its file. */
  readonly dir: string
  /** A digest of the file and everything it imports by relative path. */
  readonly digest: string
}

/** Loads a pipeline by its name or its file. */
export async function loadPipeline(pipeline: string): Promise<LoadedPipeline> {
  return loadPipelineFile(await pipelineFile(pipeline))
}

/** The same of what was typed on a command line, where a name may also be that of something in the working directory. */
export async function loadTypedPipeline(typed: string): Promise<LoadedPipeline> {
  const isOwn = isName(typed) && !(await exists(shippedFile(typed))) && (await exists(typed))
  return isOwn ? loadPipelineFile(typed) : loadPipeline(typed)
}

/** The file of a pipeline that comes with the program; null for any other name or path. */
export async function shippedPipeline(name: string): Promise<string | null> {
  return isName(name) && (await exists(shippedFile(name))) ? shippedFile(name) : null
}

/** A pipeline that comes with the program is known by its name; any other by its file. */
async function pipelineFile(pipeline: string): Promise<string> {
  if (!isName(pipeline)) return pipeline
  const shipped = await shippedPipeline(pipeline)
  if (shipped !== null) return shipped
  const known = (await namesIn(join(packageRoot, 'data'))).toSorted()
  const near = nearest(pipeline, known)
  throw new UserError(
    `unknown pipeline ${JSON.stringify(pipeline)}`,
    `${near === null ? '' : `did you mean ${near}? `}known: ${known.join(', ')}; or name a file: './my/generate.ts'`,
  )
}

function shippedFile(name: string): string {
  return join(packageRoot, 'data', name, 'generate.ts')
}

function isName(pipeline: string): boolean {
  return /^[\w-]+$/.test(pipeline)
}

/** Loads a pipeline file: its export is made with definePipeline, or is a class or object that is a DataGenerator. */
export async function loadPipelineFile(path: string): Promise<LoadedPipeline> {
  if (recordFiles.pattern.test(path))
    throw new UserError(
      `${path}: expected a pipeline, a .ts or .js file, got a file of rows`,
      `a pipeline says how a row becomes a task (docs/guides/walkthroughs.md shows one); then: ot-agent generate PIPELINE --source ${shellQuote(path)}`,
    )
  const own = join(path, 'generate.ts')
  if (existsSync(own) && !existsSync(join(path, 'index.ts'))) return loadPipelineFile(own)
  const { value, where, digest } = await loadImported(path)
  const file = resolve(path.replace(/:[A-Za-z_$][\w$]*$/, ''))
  const dir = statSync(file, { throwIfNoEntry: false })?.isDirectory() ? file : dirname(file)
  return { ...toPipeline(value, where), dir, digest }
}

function toPipeline(value: unknown, where: string): RunnablePipeline {
  const made = isClass(value) ? new value({}) : value
  if (isGenerator(made)) return { pipeline: withOptions(pipelineOfClass(made)), hooks: made }
  const problem = problemOf(made)
  if (problem !== null) throw new UserError(`${where}: ${problem}`, 'docs/guides/your-own-source.md shows one')
  return { pipeline: withOptions(made as Pipeline), hooks: null }
}

/** Rejects options whose names cannot be flags. */
function withOptions(pipeline: Pipeline): Pipeline {
  ownOptions(pipeline.options)
  return pipeline
}

/** Checks the members rather than the class, because the file may use another copy of this package. */
function isGenerator(value: unknown): value is DataGenerator {
  return (
    isObject(value) &&
    isPipelineName(value.name) &&
    ['addArguments', 'buildRequestMetadata', 'requiresEngineForStage', 'runTaskGeneration', 'runTraceGeneration'].every(
      (method) => typeof value[method] === 'function',
    )
  )
}

/** Why something is no pipeline; null if it is one. */
function problemOf(value: unknown): string | null {
  if (!isObject(value) || !('name' in value && 'source' in value))
    return `expected a pipeline with a name, a summary and a source, or a class that extends DataGenerator, got ${isObject(value) ? `something with ${Object.keys(value).join(', ') || 'nothing'}` : `a ${typeof value}`}`
  const { name, summary, source, make } = value
  if (!isPipelineName(name))
    return `name: expected letters, digits, dots, dashes and underscores, got ${JSON.stringify(name)}`
  if (typeof summary !== 'string') return 'summary: expected one line about the pipeline'
  if (!isObject(source)) return 'source: expected { fixture, real }'
  if (!isSource(source.fixture)) return 'source.fixture: expected a path, a function or { use, with }'
  if (source.real !== null && !isSource(source.real))
    return 'source.real: expected a path, a function, { use, with }, or null if there is none'
  if (make !== undefined && typeof make !== 'function' && !isUse(make))
    return 'make: expected a function or { use, with }'
  return null
}

function isSource(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'function' || isUse(value)
}

function isUse(value: unknown): boolean {
  return isObject(value) && (typeof value.use === 'string' || typeof value.use === 'function' || isPlugin(value.use))
}

/** The name becomes the first part of directory names. */
function isPipelineName(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(value)
}
