import { join, relative, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { kindAt, readTextIfExists } from '../../lib/files.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { readReport } from './read-report.ts'

/** Whether a folder is a recipe's run. */
export async function isRun(dir: string): Promise<boolean> {
  const text = (await kindAt(dir)) === 'dir' ? await readTextIfExists(join(dir, 'lock.json')) : null
  return text !== null && Object(parseJson(text)).schema === 'recipe-lock/1'
}

/** A directory that a run's manifest names, checked because a manifest from elsewhere may name any path. */
export function insideRun(dir: string, name: string): string {
  const path = resolve(dir, name)
  const way = relative(dir, path)
  if (!way.startsWith('..')) return path
  throw new UserError(
    `${dir}: expected a manifest with paths inside the directory, got ${JSON.stringify(name)}`,
    'restore the manifest, or run the recipe again',
  )
}

/** The dataset a path refers to: the path itself, or the one written by a recipe's run there. */
export async function datasetAt(path: string): Promise<string> {
  const dir = resolve(path)
  if (!(await isRun(dir))) return dir
  const { outputs } = await readReport(dir)
  const [first, ...others] = outputs.map((output) => insideRun(dir, output.dir))
  if (first !== undefined && others.length === 0) return first
  if (first === undefined)
    throw new UserError(`${path}: expected a dataset, got the run of a recipe that wrote none`, 'pass a dataset')
  throw new UserError(
    `${path}: expected one dataset, got the run of a recipe that wrote ${others.length + 1}`,
    `pass one of them, for example ${relative(process.cwd(), first)}`,
  )
}
