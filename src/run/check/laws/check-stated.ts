import type { Task } from '../../../core/task.ts'
import { parseJson } from '../../../lib/parse-json.ts'
import type { TaskFiles } from '../task-files.ts'
import type { Check } from '../verdict.ts'
import type { LawSights } from './law-bench.ts'
import type { LawPaths } from './law-checks.ts'

const orders =
  /\b(?:sort\w*|order\w*|alphabet\w*|ascending|descending|rank\w*|lexicograph\w*|chronolog\w*|newest|oldest|latest|earliest|largest|smallest|biggest|highest|lowest|longest|shortest|most|least|top|first|last|reverse\w*|increasing\w*|decreasing\w*)\b/i
const sorts = /(?:^|[|;&(\s])sort\b|\bsorted\(|\.sort\(|\bORDER BY\b/im

/** Whether the solution sorts although the instruction mentions no order: then the tests must accept any order. */
export function hidesOrder(task: Task, { rounds }: TaskFiles): boolean {
  return !orders.test(task.instruction) && rounds.some(({ solution }) => solution.some(({ text }) => sorts.test(text)))
}

/**
 * The instruction must state what the tests require: file names, an order that matters, a format that cannot be
 * guessed.
 */
export function checkStated(paths: LawPaths, sights: LawSights, task: Task): Check {
  const { instruction } = task
  const made = (path: string) => isAbsent(sights.before.get(path)) && isAbsent(sights.after.get(path)) === false
  const unnamed = paths.tested.filter(({ path }) => made(path) && !isNamed(path, instruction, sights.workdir))
  const unordered = sights.orderMatters
  const unshaped = [...sights.made].flatMap(([path, text]) => {
    const shape = shapeOf(path, text)
    const [line = ''] = text.split('\n')
    return shape && !shape.said.test(instruction) ? [{ path, shape: shape.name, where: `${path}:1`, line }] : []
  })
  const reasons = [
    ...unnamed.map(({ path }) => `name: the tests look at ${path}, which the instruction does not name`),
    ...unordered.map(
      (path) => `order: the tests want the lines of ${path} in an order that the instruction does not state`,
    ),
    ...unshaped.map(({ path, shape }) => `format: ${path} has to be ${shape}, which the instruction does not say`),
  ]
  const evidence = [...unnamed, ...unshaped].map(({ where, line }) => `${where}: ${line}`)
  return { name: 'stated', outcome: reasons.length > 0 ? 'fail' : 'ok', reasons, evidence }
}

const isAbsent = (kind: string | undefined) => kind === undefined || kind === 'absent' || kind === 'nowhere'

/** By its own name, or by that of a folder above it. */
function isNamed(path: string, instruction: string, workdir: string): boolean {
  const parts = path.split('/').filter(Boolean)
  const name = parts.at(-1) ?? ''
  const stem = name.replace(/\.\w+$/, '')
  if (instruction.includes(name) || (stem.length > 2 && instruction.includes(stem))) return true
  const parents = parts.slice(1, -1).filter((part) => !workdir.split('/').includes(part))
  return parents.some((part) => instruction.includes(part))
}

/** Bytes found in archives and images but not in text: control characters other than white space, or invalid UTF-8. */
const isBinary = /(?![\0\s])\p{Cc}|\ufffd/u
const hasControls = /(?![\0\s])\p{Cc}/u

function shapeOf(path: string, text: string): { readonly name: string; readonly said: RegExp } | null {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  if (/\.(?:json\w*|ipynb|geojson)$/.test(path)) return null
  if (/^\s*(?:\{\s*"|\[\s*[{["\d])/.test(text) && parseJson(text) !== undefined)
    return { name: 'JSON', said: /json|array|object|dict|\blist\b|```/i }
  if (isBinary.test(text))
    return /\.(?:txt|csv|tsv|md|log)$/.test(path) && hasControls.test(text.replaceAll('\u001b', ''))
      ? {
          name: 'binary, although its name is that of a text',
          said: /\bbinary\b|\bbytes?\b|\bencod|\braw\b|\bescape|\bpack|compress/i,
        }
      : null
  if (text.includes('\0'))
    return { name: 'separated by NUL bytes', said: /\bnul(?:l|s|-)?\b|\\0|print0|\bzero\b|binary/i }
  if (/\.tsv$/.test(path) || lines.length < 2) return null
  const isTabbed = lines.every((line) => /[^\t]\t[^\t]/.test(line))
  return isTabbed ? { name: 'separated by tabs', said: /\btabs?\b|\btsv\b|\\t|```|format/i } : null
}
