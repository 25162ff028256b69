import { BoundaryError } from '../../core/errors.ts'
import type { Environment } from '../../core/task.ts'
import { BuildContext, ContextError, readInside } from '../../formats/dockerfile/context.ts'
import { parseDockerfile } from '../../formats/dockerfile/parse.ts'
import { planDockerfile } from '../../formats/dockerfile/plan.ts'
import {
  type CopyStep,
  type ImageConfig,
  type Plan,
  type PlannedStage,
  type RunStep,
  type Step,
  scriptsDir,
} from '../../formats/dockerfile/step.ts'
import { dockerfileError } from '../../formats/dockerfile/words.ts'
import { gzip } from '../../lib/gzip.ts'
import { shellQuote } from '../../lib/shell.ts'
import { gatherItems, tarItems } from '../common/copy-items.ts'
import { directoryScript, placeScript } from '../common/copy-scripts.ts'
import { buildScript, scriptWith } from './scripts.ts'

/** One build step: a shell line for root, and optionally a packed tar placed at `payloadPath` before the line runs. */
export interface RecipeStep {
  readonly title: string
  readonly script: string
  readonly payload: Uint8Array | null
}

/** A Dockerfile for clouds that build from an image and a list of shell lines. */
export interface Recipe {
  readonly from: string
  readonly steps: readonly RecipeStep[]
  readonly config: ImageConfig
  readonly notes: readonly string[]
}

/** Where a step finds its payload. */
export const payloadPath = '/ot-agent-payload.tgz'

const file = 'environment/Dockerfile'

/**
 * Reads `environment/Dockerfile` and the files it copies. An instruction that such a build cannot perform is the task's
 * failure, reported with its line.
 */
export async function loadRecipe(environment: Environment): Promise<Recipe> {
  try {
    const text = (await readInside(environment.dir, 'Dockerfile')) ?? ''
    const plan = planDockerfile(parseDockerfile(text, file), 'linux/amd64')
    const context = await BuildContext.open(environment.dir)
    const stages = lineOf(plan)
    const [first, last] = [stages[0], stages.at(-1)]
    if (!first || !last || !('image' in first.base)) throw new Error(`${file}: a plan without stages`)
    const steps: RecipeStep[] = []
    for (const step of stages.flatMap((stage) => stage.steps)) steps.push(await renderStep(step, context))
    return { from: first.base.image, steps, config: last.config, notes: plan.notes }
  } catch (error) {
    if (!(error instanceof ContextError)) throw error
    throw new BoundaryError('task', `${file}: ${error.message}`, { code: 'EnvironmentBuildError', retryable: false })
  }
}

/** The stages from the first image to the last, each based on the previous one. */
function lineOf(plan: Plan): readonly PlannedStage[] {
  const line: PlannedStage[] = []
  for (let stage = plan.stages.at(-1); stage; ) {
    line.unshift(stage)
    const { base } = stage
    stage = 'stage' in base ? plan.stages.find(({ index }) => index === base.stage) : undefined
  }
  return line
}

async function renderStep(step: Step, context: BuildContext): Promise<RecipeStep> {
  if (step.kind === 'run') return { title: step.title, script: runScript(step), payload: null }
  if (step.kind === 'directory')
    return { title: step.title, script: scriptWith(directoryScript, [step.path, step.user ?? '0']), payload: null }
  if (step.from !== null)
    throw dockerfileError({ file, line: step.line }, 'files cannot be copied from another stage here; use docker_image')
  return copyScript(step, context)
}

function runScript({ user, workdir, env, argv, script }: RunStep): string {
  const run = buildScript(user ?? 'root', workdir, env, argv)
  if (script === null) return run
  const path = shellQuote(`${scriptsDir}/${script.name}`)
  return `mkdir -p ${scriptsDir} && printf %s ${shellQuote(script.content)} > ${path} && chmod 755 ${path} && ${run}`
}

async function copyScript(step: CopyStep, context: BuildContext): Promise<RecipeStep> {
  const items = await gatherItems(step, context)
  const chunks: Uint8Array[] = []
  for await (const chunk of gzip(tarItems(items))) chunks.push(chunk)
  const stage = '/ot-agent-stage'
  const place = scriptWith(placeScript, [stage, step.dest, step.chown ?? '', step.chmod ?? ''])
  const script = `mkdir -p ${stage} && tar -xzpf ${payloadPath} -C ${stage} && ${place} && rm -f ${payloadPath}`
  return { title: step.title, script, payload: Buffer.concat(chunks) }
}
