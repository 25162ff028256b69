import { statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { BoundaryError, isAbort, messageOf, UserError } from '../../core/errors.ts'
import type { ModelSettings, Need, PlugInChoice, StageContext } from '../../core/stage.ts'
import { openSnapshot } from '../../formats/hub/download.ts'
import { openRepository } from '../../formats/hub/open.ts'
import { expired, withDeadline } from '../../lib/deadline.ts'
import { canonicalJson } from '../../lib/digest-json.ts'
import { exists, kindAt } from '../../lib/files.ts'
import { findProgram } from '../../lib/programs.ts'
import { checkEngineOptions, makeAgent, makeEngine, makeProvider } from '../../plugins/make.ts'
import type { LiveStage } from '../../run/recipe/resolve.ts'
import { naming } from '../../run/recipe/stage-failure.ts'
import { engineRequestFor, findEngine } from '../engine/engine-request.ts'
import { pipelineNeeds } from './run-pipeline.ts'

/** Something missing, and the command or change that provides it. */
interface Gap {
  readonly what: string
  readonly provide: string
  /** True if it may still appear while the recipe runs, such as a server started later; no reason not to start. */
  readonly later: boolean
}

/** Something missing that stages of a recipe cannot run without. */
export interface Missing extends Gap {
  readonly stages: readonly string[]
}

export interface Look {
  /** Makes no network requests: servers, clouds and datasets are assumed to exist. Keys are still looked for. */
  readonly offline: boolean
  readonly signal: AbortSignal
}

/**
 * Looks for everything that stages need, and lists what is missing. An invalid recipe is a UserError. Changes nothing.
 */
export async function findMissing(
  stages: readonly LiveStage[],
  contextOf: (stage: LiveStage) => StageContext,
  look: Look,
): Promise<readonly Missing[]> {
  const wanted = new Map<string, { readonly need: Need; readonly stages: LiveStage[] }>()
  for (const live of stages)
    for (const need of await naming({ stages: [live] }, () => needsOf(live, contextOf(live)))) {
      const known = wanted.get(canonicalJson(need))
      if (known) known.stages.push(live)
      else wanted.set(canonicalJson(need), { need, stages: [live] })
    }
  const found = await Promise.all(
    [...wanted.values()].map(async ({ need, stages: by }) => {
      const gap = await naming({ stages: by.slice(0, 1) }, () => gapOf(need, look))
      return gap === null ? [] : [{ ...gap, stages: by.map(({ id }) => id) }]
    }),
  )
  return found.flat()
}

/** Why a source cannot give its rows here without a network; null if it can. */
export async function sourceGap(needs: readonly Need[]): Promise<string | null> {
  for (const need of needs) {
    if (need.kind === 'dataset' && !need.repo.startsWith('file:')) return `${need.repo} is on the Hub`
    if (need.kind === 'pipeline' || need.kind === 'dataset') continue
    const gap = await gapOf(need, { offline: true, signal: new AbortController().signal })
    if (gap !== null) return gap.what
  }
  return null
}

/** What a stage needs in order to run; for a stage that runs a pipeline, what the pipeline needs. */
export async function needsOf({ stage }: LiveStage, at: StageContext): Promise<readonly Need[]> {
  const needs = 'needs' in stage && stage.needs ? await stage.needs(at) : []
  const each = needs.map(async (need) => (need.kind === 'pipeline' ? pipelineNeeds(need.pipeline, need.args) : [need]))
  return (await Promise.all(each)).flat()
}

async function gapOf(need: Need, look: Look): Promise<Gap | null> {
  switch (need.kind) {
    case 'missing':
      return { ...need, later: false }
    case 'file':
    case 'folder':
    case 'path':
      return gapAtPath(need)
    case 'model':
      return gapOfModel(need.model, look)
    case 'sandbox':
      return gapOfSandbox(need.sandbox, look)
    case 'agent':
      return gapOfAgent(need.agent, need.hasModel)
    case 'dataset':
      return gapOfDataset(need.repo, need.revision, look)
    case 'pipeline':
      return null
  }
}

async function gapAtPath({ kind, path, what, provide }: Extract<Need, { readonly path: string }>): Promise<Gap | null> {
  const there = await kindAt(resolve(path))
  const isRight = kind === 'path' ? there !== 'none' : there === (kind === 'folder' ? 'dir' : 'file')
  if (isRight) return null
  const found = there === 'none' ? 'nothing is there' : `a ${there === 'dir' ? 'folder' : there} is there`
  return { what: `${what}: expected a ${kind} at ${path}, ${found}`, provide, later: false }
}

async function gapOfModel(settings: ModelSettings, { offline, signal }: Look): Promise<Gap | null> {
  const { model, apiBase } = settings
  const found = await findEngine(engineRequestFor(settings), model)
  if (!found?.model)
    throw new UserError(
      `expected a known engine for model ${JSON.stringify(model)}, found none`,
      'set `engine` or `apiBase` too',
    )
  await checkEngineOptions(found.name, found.options)
  const asked = { ...found.options, healthcheck_max_attempts: 1 }
  const options = await checkEngineOptions(found.name, asked).then(
    () => asked,
    () => found.options,
  )
  return orGap(signal, async (within) => {
    const engine = await makeEngine(found.name, options)
    // The tasks that a stand-in plays are made by earlier stages.
    const isLater = Object.values(found.options).includes('{tasks}')
    if (isLater || (offline && engine.endpoint !== null)) return null
    const health = await engine.health(within)
    if (health.healthy) return null
    const refused = ['AuthenticationError', 'PermissionDeniedError'].includes(health.code ?? '')
    const provide =
      refused || apiBase === undefined ? 'check the key and the name of the model' : serving(model, apiBase)
    return { what: `model ${model}: ${health.reason}`, provide, later: !refused }
  })
}

function serving(model: string, apiBase: string): string {
  const [first = apiBase] = apiBase.split(',')
  const port = URL.canParse(first) ? new URL(first).port : ''
  return `vllm serve ${model}${port === '' ? '' : ` --port ${port}`}, or set another server with --set (apiBase)`
}

async function gapOfSandbox({ name, options }: PlugInChoice, { offline, signal }: Look): Promise<Gap | null> {
  const provider = await makeProvider(name, options)
  return orGap(signal, async () => {
    await provider.preflight({ offline })
    return null
  })
}

async function gapOfAgent({ name, options }: PlugInChoice, hasModel: boolean): Promise<Gap | null> {
  const agent = await makeAgent(name, options)
  if (agent.needsModel && !hasModel)
    throw new UserError(`agent ${name} needs a model, got none`, 'set a teacher for it')
  const absent = agent.toolDirs ? ['node', 'npm'].filter((program) => findProgram(program) === null) : []
  if (absent.length === 0) return null
  const what = `agent ${name}: no ${absent.join(', no ')} to install it with`
  return { what, provide: 'apt-get install -y nodejs npm', later: false }
}

async function gapOfDataset(repo: string, revision: string | null, { offline, signal }: Look): Promise<Gap | null> {
  if (offline && !repo.startsWith('file:')) return null
  return orGap(signal, async (within) => {
    await openSnapshot(openRepository(repo, { env: process.env, signal: within }), revision)
    return null
  })
}

/** Time limit of one check, so that it cannot hold up a command. */
const lookSec = 20

/** Runs a check within its time limit and turns its errors into gaps; those of the network may close by themselves. */
async function orGap(signal: AbortSignal, look: (signal: AbortSignal) => Promise<Gap | null>): Promise<Gap | null> {
  try {
    const gap = await withDeadline(lookSec, signal, look)
    if (gap !== expired) return gap
    return { what: `no answer within ${lookSec} s`, provide: 'check that it is running, and try again', later: true }
  } catch (error) {
    if (isAbort(error)) throw error
    if (error instanceof UserError) return { what: error.message, provide: error.hint, later: false }
    if (!(error instanceof BoundaryError)) throw error
    return { what: messageOf(error), provide: 'check the network and the account, and try again', later: true }
  }
}

/** Approximate disk use of one rollout. */
const rolloutBytes = 100e3
const leastBytes = 1e9

/** Checks that the disk has room for what a run will write; its directory need not exist yet. */
export async function findRoom(dir: string, rollouts: number): Promise<Missing | null> {
  let above = resolve(dir)
  while (!(await exists(above)) && above !== dirname(above)) above = dirname(above)
  const { bavail, bsize } = await statfs(above)
  const [free, wanted] = [bavail * bsize, leastBytes + rollouts * rolloutBytes]
  if (free >= wanted) return null
  const gb = (bytes: number) => `${(bytes / 1e9).toFixed(1)} GB`
  const what = `disk space: ${dir} needs about ${gb(wanted)}, but ${gb(free)} are free`
  return { what, provide: 'free some space, or choose another disk with -o DIR', later: true, stages: [] }
}
