import {
  type DraftFile,
  type Dropped,
  definePlugin,
  isDropped,
  lineageOf,
  type MapStage,
  makeRandom,
  type RawRow,
  rowDigest,
  type StageContext,
  type TaskDraft,
  z,
} from 'ot-agent'
import { authorDockerfile } from './author-dockerfile.ts'
import { findDockerfile } from './find-dockerfile.ts'
import { ordersOf } from './orders.ts'
import { installPackages, packagesFor } from './packages.ts'
import { type Furnished, perturb } from './perturb.ts'
import { searchPackages } from './search-packages.ts'
import { writeDockerfile } from './write-dockerfile.ts'

const published = z.object({
  repo: z.string(),
  description: z.string().default(''),
  stars: z.number().default(0),
  text: z.string(),
})

const options = z.strictObject({
  strategy: z
    .enum(['as-given', 'packages', 'search', 'model', 'agent', 'perturb'])
    .default('perturb')
    .describe(
      "`as-given`: the row's own. `packages`: what its words ask for, by name, or what a search of `packages` finds. `search`: the best of those published. `model`: a base that a model writes. `agent`: a whole one that a model writes and repairs until it holds in a sandbox. `perturb`: harder variants of the row's own.",
    ),
  variants: z.number().int().min(1).max(20).default(2).describe('Tasks of a row with `perturb`.'),
  packages: z
    .array(z.object({ name: z.string(), summary: z.string() }))
    .default([])
    .describe(
      "For `packages`: packages that are searched for the row's keyword; none: a small table of words is used.",
    ),
  published: z.array(published).default([]).describe('For `search`: Dockerfiles others published.'),
  repairs: z
    .number()
    .int()
    .min(0)
    .max(20)
    .default(3)
    .describe('With `agent`: how often what fails goes back to the model.'),
  root: z.string().min(1).default('.').describe('With `agent`: folder that relative repositories of rows count from.'),
  pipeline: z.string().min(1).default('environments'),
})
type Options = z.output<typeof options>

const shape = z.object({
  instruction: z.string().min(1),
  dockerfile: z.string().regex(/^FROM \S+/m, 'expected a Dockerfile'),
  /** The task's other files by path. */
  files: z.record(z.string().regex(/^(?:environment|tests|solution)\/[\w./-]+$/), z.string()),
  /** What to look for: used by `search`, and by `packages` with a package list. */
  keyword: z.string().min(1).optional(),
})
type Given = z.output<typeof shape>

/**
 * E1 to E5: the same task in an environment that a model wrote or repaired, that was found, perturbed, or put together
 * from packages.
 */
export default definePlugin<MapStage<RawRow, TaskDraft>, typeof options>({
  name: 'environment',
  summary: 'Tasks of a row in other environments: perturbed, with packages by keyword, found, or written by a model',
  options,
  make: (given) => ({
    kind: 'map',
    takes: 'raw',
    gives: 'draft',
    async *run(rows, at) {
      for await (const row of rows) {
        at.signal.throwIfAborted()
        yield* makeDrafts(row, given, at)
      }
    },
  }),
})

async function* makeDrafts(
  row: RawRow,
  given: Options,
  at: StageContext,
): AsyncGenerator<TaskDraft | Dropped, void, void> {
  if (given.strategy === 'agent') return yield authorDockerfile(row, given, at)
  const parsed = shape.safeParse(row.fields)
  if (!parsed.success)
    return yield { drop: 'missing-field', detail: z.prettifyError(parsed.error).slice(0, 300), id: row.id }
  const task = furnish(parsed.data)
  if (given.strategy === 'perturb') {
    const variants = perturb(task, makeRandom(at.seed, row.id), given.variants)
    if (variants.length === 0)
      yield { drop: 'nothing-to-perturb', detail: 'no perturbation can be applied', id: row.id }
    for (const [i, variant] of variants.entries()) yield toDraft(row, { ...variant, suffix: `-${i + 1}` }, given, at)
    return
  }
  const chosen = await chooseDockerfile(parsed.data, row.id, given, at)
  yield isDropped(chosen) ? chosen : toDraft(row, { ...task, ...chosen }, given, at)
}

function furnish({ instruction, dockerfile, files }: Given): Furnished {
  return {
    instruction,
    dockerfile,
    files: Object.fromEntries(Object.entries(files).map(([path, data]) => [path, { data }])),
  }
}

interface Chosen {
  readonly dockerfile: string
  readonly helped?: Partial<TaskDraft['lineage']>
}

async function chooseDockerfile(task: Given, id: string, given: Options, at: StageContext): Promise<Chosen | Dropped> {
  const { dockerfile, instruction } = task
  if (given.strategy === 'packages') {
    const isSearch = given.packages.length > 0
    const packages = isSearch
      ? searchPackages(task.keyword ?? '', given.packages)
      : packagesFor(`${instruction}\n${task.files['solution/solve.sh'] ?? ''}`)
    if (isSearch && packages.length === 0)
      return { drop: 'no-package-found', detail: `no package fits ${task.keyword ?? 'without a keyword'}`, id }
    return { dockerfile: installPackages(dockerfile, packages) }
  }
  if (given.strategy === 'search') {
    const found = findDockerfile(task.keyword ?? '', given.published)
    if (task.keyword === undefined || found === null)
      return {
        drop: 'no-dockerfile-found',
        detail: `nothing published fits ${task.keyword ?? 'without a keyword'}`,
        id,
      }
    return { dockerfile: onTopOf(found.text, dockerfile) }
  }
  if (given.strategy === 'model') {
    const answer = await writeDockerfile(instruction, id, at)
    return isDropped(answer) ? answer : { dockerfile: onTopOf(answer.value, dockerfile), helped: lineageOf(answer) }
  }
  return { dockerfile }
}

/** Instructions that only matter if the base image is started unchanged. */
const left = new Set(['CMD', 'ENTRYPOINT', 'USER', 'COPY', 'VOLUME', 'EXPOSE', 'HEALTHCHECK', 'ONBUILD', 'STOPSIGNAL'])

/** The task's own instructions, on another base. */
function onTopOf(base: string, dockerfile: string): string {
  const kept = ordersOf(base).filter(
    ({ name, text }) => !left.has(name) && !(name === 'ADD' && !/\shttps?:/.test(text)),
  )
  const started = kept.map(({ text }) => text).join('')
  return `${started.trimEnd()}\n\n${dockerfile.replace(/^FROM .*\n+/m, '').trim()}\n`
}

function toDraft(
  row: RawRow,
  { instruction, dockerfile, files, suffix = '', helped }: Furnished & Partial<Chosen> & { readonly suffix?: string },
  { pipeline, strategy }: Options,
  { seed }: StageContext,
): TaskDraft {
  const all: Readonly<Record<string, DraftFile>> = { 'environment/Dockerfile': { data: dockerfile }, ...files }
  const lineage = {
    pipeline,
    strategy: `environment-${strategy}`,
    rowId: row.id,
    rowDigest: rowDigest(row),
    seed,
    ...helped,
  }
  return { name: `${pipeline}-${row.id}${suffix}`, instruction, files: all, lineage }
}
