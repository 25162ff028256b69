import { randomBytes } from 'node:crypto'
import type { Agent, AgentAt } from '../../core/agent.ts'
import { BoundaryError, isAbort, messageOf, UserError } from '../../core/errors.ts'
import type { Judge } from '../../core/judge.ts'
import type { Scheduler } from '../../core/launch.ts'
import type { Engine, ModelClient, ModelOutcome } from '../../core/model.ts'
import { wrapClient } from '../../core/model-replies.ts'
import type { Plugin, PluginContext } from '../../core/plugin.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import { type CallRecorder, openCallRecorder } from '../../formats/atif/recorder/call-recorder.ts'
import { oneLine } from '../../lib/visible.ts'
import { makePlugin } from '../make-plugin.ts'
import { type Imported, loadImported } from './load-imported.ts'
import { isClass, isObject } from './pick-export.ts'

export { loadImported } from './load-imported.ts'

type Options = Readonly<Record<string, unknown>>

/** Makes the agent an import path leads to, from a plug-in or a class with these options, or the object itself; its calls are recorded. */
export async function makeImportedAgent(importPath: string, options: Options): Promise<Agent> {
  const imported = await loadImported(importPath)
  const made = makeOf('agent', imported, options)
  if (isAgent(made)) return recordCalls(made)
  throw unlike(imported.where, 'an agent with name, version and solve(at)', agentParts, made)
}

/** Makes the kind of sandbox an import path leads to. */
export async function makeImportedProvider(importPath: string, options: Options): Promise<SandboxProvider> {
  const imported = await loadImported(importPath)
  const made = makeOf('sandbox', imported, options)
  if (isProvider(made)) return made
  throw unlike(imported.where, 'a sandbox provider', providerParts, made)
}

/** Makes the engine an import path leads to; its options include `model` and where that is served. */
export async function makeImportedEngine(importPath: string, options: Options): Promise<Engine> {
  const imported = await loadImported(importPath)
  const made = makeOf('engine', imported, options)
  if (problemsOf(made, engineParts).length === 0) return made as Engine
  throw unlike(imported.where, 'an engine with name, health(signal) and client(model)', engineParts, made)
}

/** Makes the scheduler an import path leads to. */
export async function makeImportedScheduler(importPath: string): Promise<Scheduler> {
  const imported = await loadImported(importPath)
  const made = makeOf('scheduler', imported, {})
  // A launch finds its scheduler again by this name.
  if (problemsOf(made, schedulerParts).length === 0) return Object.assign(made as Scheduler, { name: importPath })
  throw unlike(imported.where, 'a scheduler', schedulerParts, made)
}

/** Makes the judge an import path leads to: a plug-in whose make gives a function. */
export async function makeImportedJudge(importPath: string, options: Options): Promise<Judge> {
  const imported = await loadImported(importPath)
  const made = isPlugin(imported.value) ? makePlugin('judge', imported.value, options) : imported.value
  if (typeof made === 'function') return made as Judge
  throw new UserError(
    `${imported.where}: expected a plug-in whose make returns a function judge(work), got ${made === null ? 'null' : `a ${typeof made}`}`,
    'docs/guides/your-own-stage.md shows one of each kind',
  )
}

/**
 * Makes something from a plug-in, a class or an object: the first two are made again each time, and only they take
 * options.
 */
export function makeOf(
  kind: string,
  { where, value }: Imported,
  options: Options,
  more: Partial<PluginContext> = {},
): unknown {
  if (isClass(value)) return construct(where, value, options)
  // Users give these among the agent's options, but they are meant for the model client.
  const { api_base: _, model_info: __, ...agents } = options
  const own = kind === 'agent' ? agents : options
  if (isPlugin(value)) return makePlugin(kind, value, own, more)
  if (typeof value === 'function')
    throw new UserError(
      `${where}: expected a plug-in, a class or an object, got a function`,
      `return it from a plug-in instead: export default definePlugin({ name, summary, options, make })`,
    )
  const [first] = Object.keys(own)
  if (first !== undefined)
    throw new UserError(
      `${where}: expected no options, because it exports a finished object, got ${first}`,
      'export the class, or a plug-in whose make takes options',
    )
  return value
}

function construct(where: string, Made: new (options: Options) => unknown, options: Options): unknown {
  try {
    return new Made(options)
  } catch (error) {
    if (error instanceof UserError) throw error
    throw new UserError(
      `${where}: expected new ${Made.name}(options) to work, got ${oneLine(messageOf(error))}`,
      `the options were ${Object.keys(options).join(', ') || 'none'}`,
    )
  }
}

/** Whether a file exports a plug-in. */
export function isPlugin(value: unknown): value is Plugin<unknown> {
  if (!isObject(value) || typeof value.make !== 'function' || !isObject(value.options)) return false
  return typeof value.name === 'string' && typeof value.options.safeParse === 'function'
}

/** The parts that something must have, and the type of each. */
export type Parts = Readonly<Record<string, 'text' | 'function' | 'function or nothing' | 'object'>>

const agentParts = {
  name: 'text',
  version: 'text',
  solve: 'function',
  check: 'function or nothing',
  prepare: 'function or nothing',
} satisfies Parts

const providerParts = {
  name: 'text',
  can: 'object',
  preflight: 'function',
  lease: 'function',
  reap: 'function',
} satisfies Parts

const engineParts = { name: 'text', health: 'function', client: 'function' } satisfies Parts

const schedulerParts = {
  name: 'text',
  render: 'function',
  describe: 'function',
  submit: 'function',
  states: 'function',
  cancel: 'function',
} satisfies Parts

function isAgent(value: unknown): value is Agent {
  return problemsOf(value, agentParts).length === 0
}

function isProvider(value: unknown): value is SandboxProvider {
  return problemsOf(value, providerParts).length === 0
}

/** Which of these parts are missing or of another type. */
export function problemsOf(value: unknown, parts: Parts): string[] {
  if (!isObject(value)) return [value === null ? 'null' : `a ${typeof value}`]
  return Object.entries(parts).flatMap(([name, kind]) => {
    const part = value[name]
    if (fits(part, kind)) return []
    return part === undefined ? `no ${name}` : `${name} that is ${typeof part}, not ${kind}`
  })
}

function fits(part: unknown, kind: Parts[string]): boolean {
  if (kind === 'text') return typeof part === 'string' && part.trim() !== ''
  if (kind === 'object') return isObject(part)
  return typeof part === 'function' || (kind === 'function or nothing' && part === undefined)
}

function unlike(where: string, expected: string, parts: Parts, made: unknown): UserError {
  return new UserError(
    `${where}: expected ${expected}, got ${problemsOf(made, parts).join(', ')}`,
    'compare it with the working one in examples/',
  )
}

/**
 * The same agent, with its calls of the model recorded as a trajectory. An agent that writes its own is left as it is.
 */
export function recordCalls(agent: Agent): Agent {
  const solve = async (at: AgentAt) => {
    const { client, logsDir } = at
    if (client === null) return agent.solve(at)
    const { name, version } = agent
    const sessionId = randomBytes(8).toString('hex')
    const recorder = await openCallRecorder(logsDir, { name, version, model: client.model, sessionId }, at.mask)
    try {
      return await agent.solve({ ...at, client: recorded(client, recorder) })
    } finally {
      await recorder.finish()
    }
  }
  return {
    name: agent.name,
    version: agent.version,
    ...(agent.needsModel !== undefined && { needsModel: agent.needsModel }),
    ...(agent.repeats !== undefined && { repeats: agent.repeats }),
    ...(agent.check && { check: (task) => agent.check?.(task) }),
    ...(agent.toolDirs && { toolDirs: async (at) => (await agent.toolDirs?.(at)) ?? [] }),
    ...(agent.prepare && { prepare: async (at) => agent.prepare?.(at) }),
    solve,
  }
}

function recorded(client: ModelClient, recorder: CallRecorder): ModelClient {
  return wrapClient(client, async (request, options) => {
    // The agent may keep adding to the same list of messages; the record must show what was sent.
    const call = recorder.begin({ ...request, messages: [...request.messages] })
    try {
      const outcome = await client.complete(request, options)
      if (outcome.kind === 'reply') call.reply(outcome.reply)
      else call.fail(...failureOf(outcome))
      return outcome
    } catch (error) {
      // A server's error may quote its key, so only the kind of failure is recorded.
      if (isAbort(error)) call.fail('Aborted', 'the agent ran out of time')
      else call.fail(error instanceof BoundaryError ? error.code : 'ModelError', 'the call got no reply')
      throw error
    }
  })
}

function failureOf(outcome: Exclude<ModelOutcome, { kind: 'reply' }>): [code: string, message: string] {
  if (outcome.kind === 'context-exceeded') return ['ContextLengthExceededError', outcome.message]
  return ['BudgetExceededError', `the budget of ${outcome.budget} is used up`]
}
