import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Agent, AgentAt, AgentExit } from '../../core/agent.ts'
import { UserError } from '../../core/errors.ts'
import type { ModelClient } from '../../core/model.ts'
import { definePlugin, type PluginContext } from '../../core/plugin.ts'
import { sandboxPaths } from '../../core/task-paths.ts'
import { openCallRecorder } from '../../formats/atif/recorder/call-recorder.ts'
import { shellQuote } from '../../lib/shell.ts'
import type { CallCounts } from '../gateway/ask-model.ts'
import { type Gateway, openGateway } from '../gateway/open-gateway.ts'
import type { AgentScene, CommandAgent } from './command-agent.ts'
import { checkInstaller, installTool, specOf } from './install-tool.ts'

export const blackboxOptions = z.strictObject({
  /** Used by whoever makes the model client; nothing to the agent itself. */
  api_base: z.string().nullish(),
  model_info: z.looseObject({}).nullish(),
  collect_rollout_details: z.boolean().default(false).describe('ask for token ids and log probabilities'),
})
export type BlackboxOptions = z.output<typeof blackboxOptions>

/** Directly under the root, where a mount of it cannot be moved away from inside. */
const toolDir = '/ot-agent-tools'
const homes = '/opt/ot-agent-homes'

/** Declares a plug-in that runs a command-line agent others wrote, behind a gateway that records it. */
export function defineBlackbox(agent: CommandAgent, summary: string) {
  return definePlugin({
    name: agent.name,
    summary,
    options: blackboxOptions,
    make: (options, context) => makeBlackbox(agent, options, context),
  })
}

/** Makes such an agent: installed before the clock of the task starts, with a key that is good for its trial only. */
export function makeBlackbox(
  agent: CommandAgent,
  options: Pick<BlackboxOptions, 'collect_rollout_details'>,
  { stateDir }: PluginContext,
): Agent {
  return {
    name: agent.name,
    version: agent.tool.version,
    needsModel: true,
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
  const recorder = await openCallRecorder(at.logsDir, {
    name: agent.name,
    version: agent.tool.version,
    model: client.model,
    sessionId: randomBytes(8).toString('hex'),
  })
  const gateway = openGateway({ client, recorder, tokenDetails: options.collect_rollout_details })
  try {
    const exitCode = await runBehind(agent, gateway, client, at)
    return exitOf(exitCode, gateway.counts(), at)
  } finally {
    await gateway.close()
    note(gateway.counts(), at)
    await recorder.finish()
  }
}

/** Runs the agent's command with a door to the gateway, which is closed when the command is over. */
async function runBehind(agent: CommandAgent, gateway: Gateway, client: ModelClient, at: AgentAt): Promise<number> {
  const door = await at.sandbox.openDoor(gateway.accept)
  try {
    const scene = await setScene(agent, gateway, door.url, client, at)
    const output = `${sandboxPaths.agentLogs}/${agent.name}.txt`
    const line = agent.argv(scene).map(shellQuote).join(' ')
    const ran = await at.sandbox.exec(['sh', '-c', `${line} < /dev/null > ${output} 2>&1`], {
      env: { ...at.env, HOME: scene.home, NO_COLOR: '1', ...agent.env(scene) },
      signal: at.signal,
      ...(at.user !== undefined && { user: at.user }),
    })
    return ran.exitCode
  } finally {
    await door.close()
  }
}

async function setScene(
  agent: CommandAgent,
  { key }: Gateway,
  baseUrl: string,
  client: ModelClient,
  at: AgentAt,
): Promise<AgentScene> {
  // Not under the temporary directory, where some agents refuse to live; anew for each step of a task.
  const home = `${homes}/${randomBytes(4).toString('hex')}`
  const scene: AgentScene = {
    toolDir,
    home,
    baseUrl,
    key,
    // A name without a slash: agents split theirs there.
    model: client.model.split('/').at(-1) || client.model,
    instruction: at.instruction,
    contextTokens: client.facts.contextTokens ?? 128_000,
    outputTokens: client.facts.outputTokens ?? 8192,
    cpu: process.arch,
  }
  for (const [path, text] of Object.entries(agent.files(scene))) await at.sandbox.write(path, text, { mode: 0o644 })
  await at.sandbox.exec(['sh', '-c', `mkdir -p ${home} && chmod -R a+rwX ${home}`], { user: 'root', signal: at.signal })
  return scene
}

/** An exit code of 0 proves nothing: some agents end so when every call of theirs failed. */
function exitOf(exitCode: number, counts: CallCounts, at: AgentAt): AgentExit {
  if (counts.spentBudget !== null) return { kind: 'limit', limit: 'cost' }
  if (counts.succeeded > 0) return exitCode === 0 ? { kind: 'finished' } : { kind: 'exited', exitCode }
  // Nothing was tried with a model that never answered: its server is to blame, and that is no score of 0.
  if (counts.lastFailure) throw counts.lastFailure
  const failure = counts.calls === 0 ? 'the agent never called its model' : 'no call of the model came to a reply'
  at.record.log(`${failure}; its command exited with ${exitCode}`)
  at.record.metadata({ failure })
  return { kind: 'exited', exitCode: exitCode || 1 }
}

function note(counts: CallCounts, { record }: AgentAt): void {
  const { inputTokens, cacheTokens, outputTokens, costUsd, calls, succeeded } = counts
  record.usage({ inputTokens, cacheTokens, outputTokens, costUsd })
  record.metadata({ model_calls: calls, model_calls_succeeded: succeeded })
}

function clientOf({ name }: CommandAgent, { client }: AgentAt): ModelClient {
  if (client) return client
  throw new UserError(`agent ${name} needs a model, and none was given`, 'name one with -m, for example openai/gpt-x')
}
