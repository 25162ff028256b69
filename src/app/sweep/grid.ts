import { UserError } from '../../core/errors.ts'
import { type EngineFile, readEngineFile } from '../../formats/engine-yaml.ts'
import { parseAssignment, parsePath, parseValue, setAt } from '../job/assignments.ts'

/** One point of a grid: setting names and values. */
export type GridPoint = Readonly<Record<string, unknown>>

/** More points than this are a mistake: each one starts and stops a server. */
const mostPoints = 200

/**
 * Every combination of values: `max_num_seqs=64,256` and `dtype=float16,bfloat16` make four points. A JSON list
 * contributes its elements.
 */
export function gridOf(varied: readonly string[]): readonly GridPoint[] {
  const lists = varied.map((text) => {
    const [name, given] = parseAssignment('--vary', text)
    const list = given.startsWith('[') ? parseValue(given) : given.split(',').map(parseValue)
    if (Array.isArray(list) && list.length > 0 && !list.includes('')) return [name, list as unknown[]] as const
    throw new UserError(
      `--vary ${name}: expected comma-separated values, got ${JSON.stringify(given)}`,
      'for example --vary max_num_seqs=64,256',
    )
  })
  const names = lists.map(([name]) => name)
  const double = names.find((name, i) => names.indexOf(name) !== i)
  if (double !== undefined)
    throw new UserError(
      `--vary ${double}: expected each setting once, got it twice`,
      'put all its values into one list',
    )
  const count = lists.reduce((product, [, values]) => product * values.length, 1)
  if (count > mostPoints)
    throw new UserError(`--vary: expected at most ${mostPoints} combinations, got ${count}`, 'vary fewer settings')
  return lists.reduce<readonly GridPoint[]>(
    (points, [name, values]) => points.flatMap((point) => values.map((value) => ({ ...point, [name]: value }))),
    [{}],
  )
}

/** An engine file with a point's settings. A name without a dot is a setting of its server. */
export async function engineFileAt(path: string, point: GridPoint): Promise<EngineFile> {
  return readEngineFile(path, (document) => {
    for (const [name, value] of Object.entries(point)) {
      const keys = parsePath('--vary', name)
      setAt(document, keys.length === 1 ? ['vllm_server', ...keys] : keys, value, '--vary')
    }
  })
}
