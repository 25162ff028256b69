import { resolve } from 'node:path'
import { z } from 'zod'
import { BoundaryError, isAbort, messageOf, UserError } from '../../core/errors.ts'
import type { RawRow, TaskDraft } from '../../core/row.ts'
import { type Dropped, isDropped, type Need, type Source, type StageContext } from '../../core/stage.ts'
import { streamOf } from '../../core/stream-stage.ts'
import { overlay } from '../../lib/overlay.ts'
import { makeRandom } from '../../lib/random.ts'
import type { SourceRow } from '../recipe/run-rows.ts'
import type { MakeRow, NewDraft, Pipeline, PipelineAt, Sampling, SourceUse, StageChoice, StageUse } from './pipeline.ts'
import type { GenerationContext, GenerationRequest } from './request.ts'
import { stratifiedSample, subsample } from './sampling.ts'
import type { TasksToMake } from './task-stages.ts'

type Options = Readonly<Record<string, unknown>>
type At = PipelineAt<Options>
type Row = SourceRow
type Made = NewDraft | Dropped

/** The tasks of a declared pipeline: its source, split and sampled, and its maker, one row at a time. */
export async function tasksOf(
  pipeline: Pipeline,
  request: GenerationRequest,
  context: GenerationContext,
): Promise<TasksToMake> {
  const at = atOf(request)
  const rows = split(await openSource(sourceOf(pipeline, request), at, context), pipeline, at)
  const maker = await makerOf(pipeline.make, at, context)
  return {
    pipeline: pipeline.name,
    strategy: pipeline.strategy ?? maker?.strategy ?? pipeline.name,
    rows: sampled(rows, pipeline.sampling ?? {}, request.seed),
    ...(maker && { make: (row: RawRow) => furnished(maker.make(row), pipeline) }),
  }
}

/** What a pipeline's source requires for this request. */
export async function needsOfSource(
  pipeline: Pipeline,
  request: GenerationRequest,
  makeStage: GenerationContext['makeStage'],
): Promise<readonly Need[]> {
  const at = atOf(request)
  const own = request.source.kind === 'real' ? (pipeline.needs?.(at) ?? []) : []
  const source = sourceOf(pipeline, request)
  if (typeof source === 'function') return own
  const stage = await stageOfSource(source, at, makeStage)
  return [...own, ...((await stage.needs?.(stageNeeds)) ?? [])]
}

function atOf({ options, seed, pipelineDir: dir, inputDir }: GenerationRequest): At {
  return { options, seed, dir, inputDir }
}

function sourceOf({ name, source: { fixture, real } }: Pipeline, { source }: GenerationRequest): SourceUse<Options> {
  if (source.kind === 'fixture') return fixture
  if (source.kind === 'file') return likeFixture(fixture, source.path)
  if (real !== null) return real
  throw new UserError(
    `--source real: ${name} has only the source that comes with it`,
    'remove --source, or pass a file of rows',
  )
}

/**
 * Reads a user's own file as the fixture is read: by the same stage if that reads files too, and with the same field
 * naming its rows.
 */
function likeFixture(fixture: SourceUse<Options>, path: string): StageUse<Options> {
  if (typeof fixture !== 'object') return { use: 'sources/file', with: { path: resolve(path) } }
  return {
    use: (at) => ('path' in optionsOf(fixture, at) ? chosenBy(fixture, at) : 'sources/file'),
    with: (at) => {
      const options = optionsOf(fixture, at)
      return { ...('path' in options && options), path: resolve(path) }
    },
  }
}

/** Nothing of a run exists yet. */
const stageNeeds = {} as StageContext

async function openSource(source: SourceUse<Options>, at: At, context: GenerationContext): Promise<AsyncIterable<Row>> {
  if (typeof source === 'function') return stream(source({ ...at, signal: context.signal }))
  const stage = await stageOfSource(source, at, context.makeStage)
  return stage.rows(stageContext(at, context)) as AsyncIterable<Row>
}

async function stageOfSource(
  source: string | StageUse<Options>,
  at: At,
  makeStage: GenerationContext['makeStage'],
): Promise<Source> {
  const use = typeof source === 'string' ? { use: 'sources/file', with: { path: source } } : source
  const options = optionsOf(use, at)
  const path = typeof options.path === 'string' ? { path: resolve(at.dir, options.path) } : {}
  const chosen = chosenBy(use, at)
  const stage = await makeStage(chosen, { ...options, ...path })
  if (stage.kind !== 'source')
    throw new UserError(`${nameOf(chosen)}: expected a source, got a stage that takes rows`, 'use one of sources/...')
  return stage
}

function chosenBy({ use }: StageUse<Options>, at: At): StageChoice {
  return typeof use === 'function' ? use(at) : use
}

function nameOf(chosen: StageChoice): string {
  return typeof chosen === 'string' ? chosen : chosen.name
}

function optionsOf({ with: options = {} }: StageUse<Options>, at: At): Options {
  return typeof options === 'function' ? options(at) : options
}

interface Maker {
  readonly strategy: string | null
  make(row: RawRow): AsyncIterable<Made>
}

async function makerOf(make: Pipeline['make'], at: At, context: GenerationContext): Promise<Maker | null> {
  if (make === undefined) return null
  if (typeof make === 'function')
    return { strategy: null, make: (row) => madeInline(make as MakeRow<Options>, row, at, context) }
  const chosen = chosenBy(make, at)
  const stage = await context.makeStage(chosen, optionsOf(make, at))
  const within = stageContext(at, context)
  return {
    strategy: nameOf(chosen).replace(/^makers\//, ''),
    // One row at a time, so that each task can be traced to its row; makers see one row at a time.
    make: (row) => streamOf(stage, stream([row]), within) as AsyncIterable<Made>,
  }
}

/**
 * An error thrown by a pipeline's own function is blamed on the row, unless it is a user error, an infrastructure
 * failure or an abort.
 */
async function* madeInline(
  make: MakeRow<Options>,
  row: RawRow,
  at: At,
  context: GenerationContext,
): AsyncGenerator<Made, void, void> {
  const { model, sandboxes, signal, workDir, log } = context
  const random = makeRandom(at.seed, row.id)
  try {
    const made: unknown = await make(row, {
      ...at,
      random,
      model,
      sandboxes,
      signal,
      workDir,
      log: (line) => log(line),
    })
    for await (const each of isMany(made) ? made : [made]) yield isDropped(each) ? each : parseDraft(each, row)
  } catch (error) {
    if (error instanceof UserError || error instanceof BoundaryError || isAbort(error)) throw error
    yield { drop: 'make-failed', detail: messageOf(error), id: row.id }
  }
}

function isMany(made: unknown): made is AsyncIterable<unknown> | readonly unknown[] {
  return Array.isArray(made) || Symbol.asyncIterator in Object(made)
}

const draftSchema = z.looseObject({
  instruction: z.string(),
  name: z.string().optional(),
  files: z.record(z.string(), z.looseObject({ data: z.union([z.string(), z.instanceof(Uint8Array)]) })).optional(),
  config: z.record(z.string(), z.unknown()).optional(),
})

/** Rows can have any fields, so the result can be anything, whatever its type says. */
function parseDraft(made: unknown, { id }: RawRow): Made {
  const parsed = draftSchema.safeParse(made)
  if (parsed.success) return made as NewDraft
  const [issue] = parsed.error.issues
  return { drop: 'bad-draft', detail: `${issue?.path.join('.') || 'the draft'}: ${issue?.message}`, id }
}

/** Fills in what the pipeline says about all drafts and a draft does not say itself. */
async function* furnished(drafts: AsyncIterable<Made>, pipeline: Pipeline): AsyncGenerator<Made, void, void> {
  for await (const made of drafts) yield isDropped(made) ? made : furnish(made, pipeline)
}

function furnish(draft: NewDraft, { environment, verifier }: Pipeline): NewDraft {
  const asFile = (file: string | TaskDraft['files'][string]) => (typeof file === 'string' ? { data: file } : file)
  const tests = Object.entries(verifier?.files ?? {}).map(([path, file]) => [path, asFile(file)] as const)
  const timeout = verifier?.timeoutSec === undefined ? {} : { verifier: { timeout_sec: verifier.timeoutSec } }
  return {
    ...draft,
    files: {
      ...(environment?.dockerfile !== undefined && { 'environment/Dockerfile': { data: environment.dockerfile } }),
      ...Object.fromEntries(tests),
      ...draft.files,
    },
    config: overlay(overlay(environment?.config ?? {}, timeout), draft.config ?? {}),
  }
}

async function* split(rows: AsyncIterable<Row>, pipeline: Pipeline, at: At): AsyncGenerator<Row, void, void> {
  for await (const row of rows) {
    if (pipeline.split && 'fields' in row) yield* pipeline.split(row, at)
    else yield row
  }
}

async function* sampled(rows: AsyncIterable<Row>, sampling: Sampling, seed: number): AsyncGenerator<Row, void, void> {
  const { order = 'source', rows: count, stratifyBy } = sampling
  if (order === 'source' && count === undefined) return yield* rows
  const all: (RawRow | TaskDraft)[] = []
  for await (const row of rows) {
    if (isDropped(row)) yield row
    else all.push(row)
  }
  const groupOf = (row: RawRow | TaskDraft) => ('fields' in row ? String(row.fields[stratifyBy ?? '']) : '')
  const chosen =
    count === undefined
      ? all
      : stratifyBy === undefined
        ? subsample(all, count, seed)
        : stratifiedSample(all, count, groupOf, seed)
  yield* order === 'shuffled' ? makeRandom(seed, 'order').shuffle(chosen) : chosen
}

function stageContext({ seed }: At, { signal, workDir, model, sandboxes, log }: GenerationContext): StageContext {
  return { seed, signal, workDir, ...(model && { model }), ...(sandboxes && { sandboxes }), log: (line) => log(line) }
}

async function* stream<T>(rows: AsyncIterable<T> | Iterable<T>): AsyncGenerator<T, void, void> {
  yield* rows
}
