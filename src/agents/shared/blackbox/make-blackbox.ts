import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Agent, AgentAt, AgentExit } from '../../../core/agent.ts'
import { isAbort, UserError } from '../../../core/errors.ts'
import type { ModelClient } from '../../../core/model.ts'
import { definePlugin, type PluginContext } from '../../../core/plugin.ts'
import { sandboxPaths } from '../../../core/task-paths.ts'
import { openCallRecorder } from '../../../formats/atif/recorder/call-recorder.ts'
import { shellQuote } from '../../../lib/shell.ts'
import type { CallCounts } from '../gateway/ask-model.ts'
import { type Gateway, openGateway } from '../gateway/open-gateway.ts'
import { setUpSkillsAndMcp } from '../skills-and-mcp/set-up.ts'
import type { CommandAgent, CommandAgentContext } from './command-agent.ts'
import { checkInstaller, installTool, specOf } from './install-tool.ts'

const blackboxOptions = z.strictObject({
  api_base: z.string().nullish().describe('Address of the model server. Used by the model client, not by the agent.'),
  model_info: z.looseObject({}).nullish(),
  version: z
    .string()
    .regex(/^[0-9][\w.+-]*$/, 'expected an exact version, for example 1.2.3')
    .optional()
    .describe('version of the agent (default: the tested one)'),
  collect_rollout_details: z.boolean().default(false).describe('request token ids and log probabilities'),
})
export type BlackboxOptions = z.output<typeof blackboxOptions>

/** Declares a plug-in that runs a third-party command-line agent behind a gateway that records it. */
export function defineBlackbox(agent: CommandAgent, summary: string) {
  return definePlugin({
    name: agent.name,
    summary,
    options: blackboxOptions,
    make: ({ version, ...options }, context) =>
      makeBlackbox(version === undefined ? agent : withVersion(agent, version), options, context),
  })
}

function withVersion(agent: CommandAgent, version: string): CommandAgent {
  return { ...agent, tool: { ...agent.tool, version } }
}

/** Makes such an agent: it is installed before the task's time starts, and its key is valid only for its trial. */
export function makeBlackbox(
  agent: CommandAgent,
  options: Pick<BlackboxOptions, 'collect_rollout_details'>,
  { stateDir }: PluginContext,
): Agent {
  return {
    name: agent.name,
    version: agent.tool.version,
    needsModel: true,
    // Its program may make several calls at once, and for an interrupted attempt some of them have no reply.
    repeats: false,
    check: () => checkInstaller(agent.tool),
    async toolDirs({ signal, record }) {
      record.log(`uses ${specOf(agent.tool)}, installed once on this machine`)
      return [{ source: await installTool(stateDir, agent.tool, signal), target: toolDir }]
    },
    solve: (at) => solve(agent, options, at),
  }
}

async function solve(
  agent: CommandAgent,
  options: Pick<BlackboxOptions, 'collect_rollout_details'>,
  at: AgentAt,
): Promise<AgentExit> {
  const client = clientOf(agent, at)
  const sessionId = randomBytes(8).toString('hex')
  const recorded = { name: agent.name, version: agent.tool.version, model: client.model, sessionId }
  const recorder = await openCallRecorder(at.logsDir, recorded, at.mask)
  const over = new AbortController()
  const gateway = openGateway({
    client,
    recorder,
    refused: (call) => at.record.refused(call),
    tokenDetails: options.collect_rollout_details,
    onCount: (counts) => void (isOver(counts) && over.abort()),
  })
  try {
    const exitCode = await runBehind(agent, at, { gateway, client, over: over.signal })
    return exitOf(exitCode, gateway.counts(), at)
  } finally {
    await gateway.close()
    note(gateway.counts(), at)
    await recorder.finish()
  }
}

function note(counts: CallCounts, { record }: AgentAt): void {
  const { inputTokens, cacheTokens, outputTokens, costUsd, calls, succeeded } = counts
  record.usage({ inputTokens, cacheTokens, outputTokens, costUsd })
  record.metadata({ model_calls: calls, model_calls_succeeded: succeeded })
}

function clientOf({ name }: CommandAgent, { client }: AgentAt): ModelClient {
  if (client) return client
  throw new UserError(`agent ${name} needs a model, got none`, 'pass one with -m, for example openai/gpt-x')
}

/** Failures that no retry can fix. */
const hopeless = ['AuthenticationError', 'PermissionDeniedError', 'ModelNotFoundError']
/** The model's client has already tried each of these calls several times; some agents would go on forever. */
const maxFailuresInARow = 10

/** Whether further model calls would be futile, so the agent need not continue. */
function isOver({ spentBudget, lastFailure, failuresInARow }: CallCounts): boolean {
  if (spentBudget !== null) return true
  return lastFailure !== null && (hopeless.includes(lastFailure.code) || failuresInARow >= maxFailuresInARow)
}

/**
 * How an agent ended, given the outcome of its calls. An exit code of 0 proves nothing: some agents return it when
 * every call failed.
 */
function exitOf(exitCode: number, counts: CallCounts, at: AgentAt): AgentExit {
  if (counts.spentBudget !== null) return { kind: 'limit', limit: 'cost' }
  if (counts.succeeded > 0 && exitCode === 0) return { kind: 'finished' }
  // It gave up after the model's server failed a call: the server is to blame, and that is not a score of 0.
  if (counts.lastFailure) throw counts.lastFailure
  if (counts.succeeded > 0) return { kind: 'exited', exitCode }
  const failure = counts.calls === 0 ? 'the agent never called its model' : 'no model call produced a reply'
  at.record.log(`${failure}; its command exited with ${exitCode}`)
  at.record.metadata({ failure })
  return { kind: 'exited', exitCode: exitCode || 1 }
}

/** Directly under the root, where a mount cannot be moved away from inside. */
const toolDir = '/ot-agent-tools'
const homes = '/opt/ot-agent-homes'
/** The exit code of a command that was stopped because its model will not answer any more. */
const stoppedCode = 137

interface BehindGateway {
  readonly gateway: Gateway
  readonly client: ModelClient
  readonly over: AbortSignal
}

/** Runs the agent's command with access to the gateway, which ends when the command does or when `over` stops it. */
async function runBehind(agent: CommandAgent, at: AgentAt, { gateway, client, over }: BehindGateway): Promise<number> {
  const door = await at.sandbox.openDoor(gateway.accept)
  try {
    const context = await prepareContext(agent, { baseUrl: door.url, key: gateway.key }, client, at)
    const output = `${sandboxPaths.agentLogs}/${agent.name}.txt`
    const line = agent.argv(context).map(shellQuote).join(' ')
    const ran = await at.sandbox.exec(['sh', '-c', `${line} < /dev/null > ${output} 2>&1`], {
      env: { ...at.env, HOME: context.home, NO_COLOR: '1', ...agent.env(context) },
      signal: AbortSignal.any([at.signal, over]),
      ...(at.user !== undefined && { user: at.user }),
    })
    return ran.exitCode
  } catch (error) {
    if (over.aborted && !at.signal.aborted && isAbort(error)) return stoppedCode
    throw error
  } finally {
    await door.close()
  }
}

async function prepareContext(
  agent: CommandAgent,
  { baseUrl, key }: Pick<CommandAgentContext, 'baseUrl' | 'key'>,
  client: ModelClient,
  at: AgentAt,
): Promise<CommandAgentContext> {
  // Not under the temporary directory, which some agents refuse as a home; a new one for each step of a task.
  const home = `${homes}/${randomBytes(4).toString('hex')}`
  const context: CommandAgentContext = {
    toolDir,
    home,
    baseUrl,
    key,
    // A name without a slash, because agents split names there.
    model: client.model.split('/').at(-1) || client.model,
    contextTokens: client.facts.contextTokens ?? 128_000,
    outputTokens: client.facts.outputTokens ?? 8192,
    cpu: process.arch,
    ...(await setUpSkillsAndMcp(agent, home, at)),
  }
  for (const [path, text] of Object.entries(agent.files(context))) await at.sandbox.write(path, text, { mode: 0o644 })
  await at.sandbox.exec(['sh', '-c', `mkdir -p ${home} && chmod -R a+rwX ${home}`], { user: 'root', signal: at.signal })
  return context
}
