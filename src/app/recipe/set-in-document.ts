import { messageOf, UserError } from '../../core/errors.ts'
import { jsonOrText } from '../../lib/parse-json.ts'
import { oneLine } from '../../lib/visible.ts'
import { stageId } from '../../run/recipe/resolve.ts'
import { parsePath, setAt } from '../job/assignments.ts'

/**
 * Applies `path=value` settings to a recipe: `seed=3`, or `STAGE.OPTION=VALUE` for an option of the stage with that id.
 * The value is parsed as JSON if possible, else taken as text.
 */
export function setInDocument(recipe: unknown, settings: readonly string[]): unknown {
  const document = plain(recipe)
  for (const setting of settings) {
    const at = setting.indexOf('=')
    if (at <= 0) throw wrong(`--set ${setting}`, 'expected path=value')
    apply(document, setting.slice(0, at), jsonOrText(setting.slice(at + 1)), `--set ${setting}`)
  }
  return document
}

/** The same for values that were not given as text, by path; `where` is for messages. */
export function setValues(recipe: unknown, values: Readonly<Record<string, unknown>>, where: string): unknown {
  const document = plain(recipe)
  for (const [path, value] of Object.entries(values)) apply(document, path, plain(value), `${where}: ${path}`)
  return document
}

/** Every string among the values of a `path=value` setting. */
export function textsIn(setting: string): readonly string[] {
  const collect = (value: unknown): readonly string[] => {
    if (typeof value === 'string') return [value]
    return typeof value === 'object' && value !== null ? Object.values(value).flatMap(collect) : []
  }
  return collect(jsonOrText(setting.slice(setting.indexOf('=') + 1)))
}

function apply(document: unknown, path: string, value: unknown, setting: string): void {
  const [head = '', ...rest] = path.split('.')
  if (!isRecord(document)) return
  if (rest.length === 0) {
    if (head !== 'seed' && head !== 'name') throw wrong(setting, `a recipe has no ${JSON.stringify(head)} to set`)
    document[head] = value
    return
  }
  const stages = Array.isArray(document.stages) ? document.stages.filter(isRecord) : []
  const stage = stages.find((each) => idOf(each) === head)
  if (!stage) throw wrong(setting, `unknown stage ${JSON.stringify(head)}; known: ${stages.map(idOf).join(', ')}`)
  if (!isRecord(stage.with)) stage.with = {}
  setAt(stage.with as Record<string, unknown>, parsePath(setting, rest.join('.')), value, setting)
}

function idOf({ id, use }: Record<string, unknown>): string {
  return stageId({ id: id === undefined ? undefined : String(id), use: String(use ?? '') })
}

/** A copy as plain JSON. Functions, which JSON would silently omit, are an error. */
function plain(value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(structuredClone(value)))
  } catch (error) {
    throw new UserError(
      `expected a recipe of plain values, got ${oneLine(messageOf(error))}`,
      'docs/guides/your-own-recipe.md shows one',
    )
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function wrong(setting: string, why: string): UserError {
  return new UserError(`${setting}: ${why}`, 'for example --set rollout.concurrency=8 or --set seed=3')
}
