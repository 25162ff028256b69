import { z } from 'zod'
import { moduleFrom, type PluginContext } from '../../../core/plugin.ts'
import type { ModelSettings, Need, PlugInChoice } from '../../../core/stage.ts'

const values = z.record(z.string(), z.unknown())

/** A model and its address. */
export const modelSettings = z.strictObject({
  model: z.string().min(1),
  engine: z.string().min(1).optional(),
  apiBase: z.string().min(1).optional(),
  apiKeyEnv: z.string().min(1).optional().describe('The variable that holds the key.'),
  options: values.optional().describe("The engine's own options."),
})

const choice = z.union([z.string().min(1), z.strictObject({ name: z.string().min(1), options: values.optional() })])

/** How many rollouts are made, by which agent and where; each of these has a default that works on any machine. */
export const rollingOptions = {
  agent: choice.default('terminus-2').describe('A name, or a name with options.'),
  sandbox: choice.default('local'),
  concurrency: z.int().positive().default(4),
  timeoutMultiplier: z.number().positive().optional(),
  agentMayModifySystem: z
    .boolean()
    .optional()
    .describe('Lets agents change the system in every task, as `agent_may_modify_system` of a task does in one.'),
  judge: modelSettings.optional().describe('Who scores tasks that ask for a judge.'),
  budgetUsd: z
    .number()
    .positive()
    .optional()
    .describe('Limit for all rollouts of the stage; a recipe that stops at the limit resumes when it is raised.'),
}

/** The part of a model's settings that its answers depend on, which excludes its address. */
export function identityOfModel({ apiBase: _, apiKeyEnv: __, ...rest }: ModelSettings): object {
  return rest
}

/** A plug-in named with or without options, as it was written. */
export function chosen(plugIn: z.output<typeof choice>): PlugInChoice {
  return typeof plugIn === 'string' ? { name: plugIn } : plugIn
}

/** The same, ready to be made: a path starts from where it was written. */
export function located(plugIn: z.output<typeof choice>, context: PluginContext): PlugInChoice {
  const { name, ...rest } = chosen(plugIn)
  return { ...rest, name: moduleFrom(context, name) }
}

/** A model whose engine may be a file. */
export function locatedModel<T extends ModelSettings>(settings: T, context: PluginContext): T {
  const { engine } = settings
  return engine === undefined ? settings : { ...settings, engine: moduleFrom(context, engine) }
}

/** A judge, which may itself be a file. */
export function locatedJudge(judge: ModelSettings | undefined, context: PluginContext): ModelSettings | undefined {
  return judge && { ...locatedModel(judge, context), model: moduleFrom(context, judge.model) }
}

/** The models that must be reachable. A judge that is a file or a package is not a model. */
export function neededModels(
  models: readonly (ModelSettings | null | undefined)[],
  judge: ModelSettings | undefined,
): readonly Need[] {
  const isModule = judge !== undefined && /^(?:\/|npm:)/.test(judge.model)
  const asked = [...models, isModule ? undefined : judge]
  return asked.flatMap((model) => (model ? [{ kind: 'model', model } as const] : []))
}

/** What rollouts require. */
export function needsOfRolling({
  teachers,
  agent,
  sandbox,
  judge,
}: {
  readonly teachers: readonly (ModelSettings | null)[]
  readonly agent: PlugInChoice
  readonly sandbox: PlugInChoice
  readonly judge?: ModelSettings | undefined
}): readonly Need[] {
  return [
    { kind: 'sandbox', sandbox },
    { kind: 'agent', agent, hasModel: teachers.every((teacher) => teacher !== null) },
    ...neededModels(teachers, judge),
  ]
}

/** The plug-ins of a rollout, ready to be made. */
export function locatedPlugIns(
  {
    agent,
    sandbox,
    judge,
  }: { agent: z.output<typeof choice>; sandbox: z.output<typeof choice>; judge?: ModelSettings | undefined },
  context: PluginContext,
) {
  return { agent: located(agent, context), sandbox: located(sandbox, context), judge: locatedJudge(judge, context) }
}
