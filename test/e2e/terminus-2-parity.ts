import { readFileSync } from 'node:fs'
import terminus2 from '../../src/agents/terminus-2/index.ts'
import { agentConfig } from '../fakes/configs.ts'
import { playedClient } from '../fakes/model-client.ts'
import { playTrial, stateDir } from './kit.ts'

/** A model's reply in a script, and what Harbor's agent sent next. */
export interface ScriptedTurn {
  readonly reply: string
  readonly observation: string
}

const fixture = new URL('../fixtures/terminus-2/harbor-observations.jsonl', import.meta.url)

/**
 * Replies with what Harbor's agent sent after each, in a container with bash, python3 and no vi. Wording and
 * machine-specific text are left out: `shownObservation` does the same to ours.
 */
export const scriptedTurns: readonly ScriptedTurn[] = readFileSync(fixture, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as ScriptedTurn)

/** What our agent sends after each of these replies, in a sandbox on this machine. */
export async function observationsOf(
  replies: readonly string[],
  options: Readonly<Record<string, unknown>> = {},
): Promise<string[]> {
  const done = '{"analysis": "", "plan": "", "commands": [], "task_complete": true}'
  const client = playedClient([...replies.map(unhurried), done])
  const agent = terminus2.make(terminus2.options.parse(options), { env: {}, stateDir })
  const config = { agent: agentConfig({ name: 'terminus-2', modelName: client.model }) }
  // As in the script's container: an empty /app, and no vi.
  const dockerfile = 'FROM debian:12\nRUN rm -f /usr/bin/vi /usr/local/bin/vi\nWORKDIR /app\n'
  await playTrial({ agent, client, config, task: { files: { 'environment/Dockerfile': dockerfile } } })
  return client.requests.slice(1, replies.length + 1).map(({ messages }) => messages.at(-1)?.content ?? '')
}

/** A busy machine takes seconds for a command; where a prompt ends the wait, more time for it costs nothing. */
function unhurried(reply: string): string {
  return reply.replaceAll(/"duration":([\d.]+)/g, (_, seconds) => `"duration":${Math.max(4, Number(seconds))}`)
}
