import { type SimpleWork, simpleWork } from '../files/simple-work.ts'
import { type Constraint, constraints } from '../tables/constraints.ts'
import { shapes } from '../tables/shapes.ts'
import { byLevel, type Draw, file, type Tree, type Work } from '../work.ts'

/** What an operation whose result is one text file has to provide. */
export interface ReportWork extends Omit<SimpleWork, 'after' | 'constraints'> {
  readonly out: string
  readonly text: string
  /** Everything else that is there in the end; by default, the same as before. */
  readonly after?: Tree
  /** Bash that prints the text. */
  readonly solve: string
}

/** Table constraints that do not need a table. */
const textual = ['crlf-output', 'gzip-output', 'no-final-newline', 'checksum-file', 'output-mode']

/** Completes a work whose result is one text file; some of them ask for more than its content. */
export function reportWork(draw: Draw, { out, text, after, ...work }: ReportWork): Work {
  const { random, words, level } = draw
  const drawn = random.chance(byLevel(level, 0, 0.3, 0.6)) ? [random.pick(constraints.filter(isTextual))] : []
  const [shape] = shapes
  if (!shape) throw new Error('no shapes')
  const others = { made: false, read: [] }
  const bounds = drawn.map((constraint) =>
    constraint.draw({ path: out, text, inputs: [], others, shape, table: { columns: [], rows: [] } }, random, words),
  )
  const tree: Record<string, Tree[string]> = { ...(after ?? work.before), [out]: file(text) }
  for (const [path, entry] of bounds.flatMap((bound) => Object.entries(bound.after ?? {}))) {
    if (entry === null) delete tree[path]
    else tree[path] = entry
  }
  return simpleWork(draw, {
    ...work,
    ask: [...work.ask, ...bounds.map(({ say }) => say)],
    after: tree,
    probes: [...(work.probes ?? []), ...bounds.flatMap(({ probes }) => probes ?? [])],
    constraints: drawn.map(({ name }) => name),
    solve: `out=${out}
mkdir -p "$(dirname "$out")"
answer() {
${work.solve.trimEnd()}
}
answer > "$out"
${bounds.flatMap(({ shell }) => (shell ? [shell] : [])).join('\n')}`,
  })
}

function isTextual({ name }: Constraint): boolean {
  return textual.includes(name)
}

/** Joins lines into the text of a file. */
export function lines(all: readonly string[]): string {
  return all.map((line) => `${line}\n`).join('')
}
