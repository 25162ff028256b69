import { randomBytes } from 'node:crypto'
import type { AgentAt } from '../../../core/agent.ts'
import { isAbort } from '../../../core/errors.ts'
import type { ModelClient } from '../../../core/model.ts'
import { sandboxPaths } from '../../../core/task-paths.ts'
import { shellQuote } from '../../../lib/shell.ts'
import type { Gateway } from '../gateway/open-gateway.ts'
import { setUpSkillsAndMcp } from '../skills-and-mcp/set-up.ts'
import type { CommandAgent, CommandAgentContext } from './command-agent.ts'

/** Directly under the root, where a mount of it cannot be moved away from inside. */
export const toolDir = '/ot-agent-tools'
const homes = '/opt/ot-agent-homes'
/** Of a command that was stopped because its model will not answer any more. */
const stoppedCode = 137

interface BehindGateway {
  readonly gateway: Gateway
  readonly client: ModelClient
  readonly over: AbortSignal
}

/** Runs the agent's command with a door to the gateway, which is closed when the command ends or `over` stops it. */
export async function runBehind(
  agent: CommandAgent,
  at: AgentAt,
  { gateway, client, over }: BehindGateway,
): Promise<number> {
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
  // Not under the temporary directory, where some agents refuse to live; a new one for each step of a task.
  const home = `${homes}/${randomBytes(4).toString('hex')}`
  const context: CommandAgentContext = {
    toolDir,
    home,
    baseUrl,
    key,
    // A name without a slash: agents split theirs there.
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
