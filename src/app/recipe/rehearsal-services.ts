import { basename, join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import {
  isDropped,
  type ModelSettings,
  type PlugInChoice,
  type Rehearsal,
  type StageServices,
} from '../../core/stage.ts'
import { exists, readTextIfExists } from '../../lib/files.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { isGlob } from '../../lib/path-glob.ts'
import { makeAgent } from '../../plugins/make.ts'
import { asksModel } from '../../run/pipeline/pipeline.ts'
import { type LoadedPipeline, loadPipeline } from '../generate/load-pipeline.ts'
import { camelCase, type PipelineArgs } from '../generate/options.ts'
import { checkTasksWith } from './check-tasks.ts'
import { rehearsalJudge } from './rehearsal-judge.ts'
import { rehearsalModel } from './rehearsal-model.ts'
import { replayRows } from './replay-rows.ts'
import { type RolloutAsk, rollOut } from './roll-out.ts'
import { pipelineFingerprint, runPipeline } from './run-pipeline.ts'

/** Rows per source in a rehearsal. */
export const rehearsalRows = 2
/** Concurrent trials: a rehearsal must run on any machine. */
const concurrency = 2
/** The pipeline whose tasks replace those that cannot be made here. It needs nothing but a seed. */
const standInPipeline = 'terminal-composer'
const standInAgent = 'terminus-2'
const local: PlugInChoice = { name: 'local' }
const teacher: ModelSettings = { model: 'scripted/stand-in', engine: 'scripted', options: { tasks: '{tasks}' } }

/** Services for stages built on fixtures, stand-ins and local sandboxes; every substitution is reported. */
export function rehearsalServices(rehearsal: Rehearsal, trials: RolloutAsk): StageServices {
  const inLocal = (sandbox: PlugInChoice): PlugInChoice => {
    if (sandbox.name === local.name) return sandbox
    rehearsal.substituted(`local sandboxes for ${sandbox.name}`)
    return local
  }
  const withStandIn = (judge: ModelSettings | undefined) => {
    if (judge) rehearsal.substituted(`a comparison with the reference for the judge ${judge.model}`)
    return { ...trials, standInJudge: rehearsalJudge }
  }
  return {
    model: async ({ model }) => {
      rehearsal.substituted(`replies without meaning for ${model}`)
      return rehearsalModel(model)
    },
    async *rollOut({ budgetUsd: _, ...request }) {
      const asked = withStandIn(request.judge)
      const sandbox = inLocal(request.sandbox)
      const agent = await withoutTools(request.agent, rehearsal)
      const model = request.model && (isStandIn(request.model) ? request.model : teacher)
      if (model !== request.model) rehearsal.substituted(`the tasks' own solutions for ${request.model?.model}`)
      for await (const rolled of rollOut({ ...request, sandbox, agent, model, concurrency }, asked)) {
        if (isDropped(rolled) && needsOther(rolled.detail)) rehearsal.notExercised(cannotRun(rolled.detail))
        yield rolled
      }
    },
    async *check(dirs, { opinion, budgetUsd: _, ...request }) {
      const asked = withStandIn(request.judge)
      if (opinion) rehearsal.notExercised(`second opinions of ${opinion.solver.model}`)
      const checked = checkTasksWith(async ({ model }) => rehearsalModel(model), asked)
      for await (const task of checked(dirs, { ...request, sandbox: inLocal(request.sandbox), concurrency })) {
        // Tasks that only another kind of sandbox could prove continue unproven, so that later stages get rows.
        if (needsOther(task.detail)) rehearsal.notExercised(cannotRun(task.detail))
        yield needsOther(task.detail) ? { dir: task.dir, reason: null } : task
      }
    },
    async *pipeline(request) {
      const offline = await offlineRequest(request.pipeline, request.args, rehearsal)
      yield* runPipeline({ ...request, ...offline })
    },
    pipelineFingerprint,
    replay: (sample) => replayRows(sample),
  }
}

function isStandIn({ engine }: ModelSettings): boolean {
  return engine === teacher.engine
}

/** Replaces agents that would have to be installed from the network. */
async function withoutTools(agent: PlugInChoice, rehearsal: Rehearsal): Promise<PlugInChoice> {
  if (!(await makeAgent(agent.name, agent.options)).toolDirs) return agent
  rehearsal.substituted(`${standInAgent} for ${agent.name}`)
  rehearsal.notExercised(`the agent ${agent.name}, which is installed from the network`)
  return { name: standInAgent }
}

const otherSandbox = /which sandbox \S+ cannot give/

function needsOther(detail: string | undefined): boolean {
  return detail !== undefined && otherSandbox.test(detail)
}

function cannotRun(detail: string | undefined): string {
  const needed = /needs (.*?), which sandbox/.exec(detail ?? '')?.[1]
  return `tasks that need ${needed ?? 'another kind of sandbox'}`
}

/** Arguments that say where rows, models and sandboxes are, and how many tasks to make. */
const outward =
  /^(?:source|inputDir|limit|model|apiBase|apiKeyEnv|engine|engineKwarg|engineConfig|endpointJson|environment|environmentKwarg|nConcurrent|check|judge[A-Z]\w*)$/

/** Runs a pipeline on local rows, with arguments that let it run without a model; if it cannot, uses composed tasks. */
async function offlineRequest(pipeline: string, args: PipelineArgs, rehearsal: Rehearsal) {
  const loaded = await loadPipeline(pipeline)
  const named = Object.fromEntries(Object.entries(args).map(([name, value]) => [camelCase(name), value]))
  const own = Object.fromEntries(Object.entries(named).filter(([name]) => !outward.test(name)))
  const offline = await offlineArgs(loaded)
  const asks = asksModel(loaded.pipeline, loaded.hooks ? {} : own)
  if (asks && offline?.model === undefined) {
    rehearsal.substituted(`composed tasks for those of ${pipeline}`)
    rehearsal.notExercised(`the pipeline ${pipeline}, which asks a model and brings no offline-args.json`)
    const composed = { ...fixture, limit: rehearsalRows, check: false, count: rehearsalRows }
    return { pipeline: standInPipeline, args: { seed: args.seed, ...composed } }
  }
  // Scripted replies only fit the fixture's rows.
  const rows = asks ? fixture : await rowsOf(named)
  if (named.source !== undefined && named.source !== 'fixture' && rows === fixture)
    rehearsal.substituted(`the fixture of ${pipeline} for its source`)
  if (asks) rehearsal.substituted(`the replies of its scripted.json for the model of ${pipeline}`)
  return { args: { ...own, ...rows, limit: rehearsalRows, check: false, ...offline } }
}

const fixture = { source: 'fixture' }

/** Where rows come from: the recipe's source if its files are on this machine, else the fixture. */
async function rowsOf({ source, inputDir }: PipelineArgs): Promise<PipelineArgs> {
  const path = source === 'real' ? inputDir : source
  const isHere = typeof path === 'string' && path !== 'fixture' && ((await exists(path)) || isGlob(path))
  return isHere ? { source, ...(source === 'real' && { inputDir }) } : fixture
}

/** The arguments with which a pipeline runs on its fixture and without a model; null if it needs none. */
async function offlineArgs({ dir }: LoadedPipeline): Promise<PipelineArgs | null> {
  const file = join(dir, 'offline-args.json')
  const text = await readTextIfExists(file)
  if (text === null) return null
  const parsed = z.record(z.string(), z.unknown()).safeParse(parseJson(text))
  if (!parsed.success)
    throw new UserError(`${file}: expected an object of arguments`, 'for example {"model": "scripted/author"}')
  // Paths in it are relative to the folder that holds data/.
  const located = (value: unknown): unknown =>
    typeof value === 'string'
      ? value.replace(`data/${basename(dir)}/`, `${dir}/`)
      : Array.isArray(value)
        ? value.map(located)
        : value
  return Object.fromEntries(Object.entries(parsed.data).map(([name, value]) => [name, located(value)]))
}
