import { statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { DataGenerator } from '../../generation/data-generator.ts'
import { DeclaredGenerator } from '../../generation/declared-generator.ts'
import type { Pipeline } from '../../generation/pipeline.ts'
import { loadImported } from '../../plugins/user-modules/load-imported.ts'
import { isPlugin } from '../../plugins/user-modules/make-imported.ts'
import { isClass, isObject } from '../../plugins/user-modules/pick-export.ts'

/** A pipeline that was found, and what its tasks depend on. */
export interface LoadedGenerator {
  readonly generator: DataGenerator
  /** Where its file lies. */
  readonly dir: string
  /** Of the file and whatever it imports by a relative path. */
  readonly digest: string
}

/** Loads the pipeline of a file: declared with definePipeline, or a class or object that is a DataGenerator. */
export async function loadGenerator(path: string): Promise<LoadedGenerator> {
  const { value, where, digest } = await loadImported(path)
  const file = resolve(path.replace(/:[A-Za-z_$][\w$]*$/, ''))
  const dir = statSync(file, { throwIfNoEntry: false })?.isDirectory() ? file : dirname(file)
  return { generator: toGenerator(value, where), dir, digest }
}

/** Whether a pipeline knows of rows beside the few that come with it. */
export function hasRealSource(generator: DataGenerator): boolean {
  return !(generator instanceof DeclaredGenerator) || generator.pipeline.source.real !== null
}

function toGenerator(value: unknown, where: string): DataGenerator {
  const made = isClass(value) ? new value({}) : value
  if (isGenerator(made)) return made
  if (isPipeline(made)) return new DeclaredGenerator(made)
  throw new UserError(
    `${where}: expected a pipeline with a name, a summary and a source, or a class that extends DataGenerator, got ${isObject(made) ? `something with ${Object.keys(made).join(', ') || 'nothing'}` : `a ${typeof made}`}`,
    'docs/guides/your-own-source.md shows one',
  )
}

/** By its parts, because a file may have been made with another copy of this program. */
function isGenerator(value: unknown): value is DataGenerator {
  return (
    isObject(value) &&
    isName(value.name) &&
    ['addArguments', 'buildRequestMetadata', 'requiresEngineForStage', 'runTaskGeneration', 'runTraceGeneration'].every(
      (method) => typeof value[method] === 'function',
    )
  )
}

function isPipeline(value: unknown): value is Pipeline {
  if (!isObject(value) || !isName(value.name) || typeof value.summary !== 'string' || !isObject(value.source))
    return false
  const { source, make } = value
  if (!isSource(source.fixture) || !(source.real === null || isSource(source.real))) return false
  return make === undefined || typeof make === 'function' || isUse(make)
}

function isSource(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'function' || isUse(value)
}

function isUse(value: unknown): boolean {
  return isObject(value) && (typeof value.use === 'string' || typeof value.use === 'function' || isPlugin(value.use))
}

/** It becomes the first part of names of directories. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(value)
}
