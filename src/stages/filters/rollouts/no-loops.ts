import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import { type AgentTurn, agentTurns } from '../../shared/rollout-text/commands.ts'
import { brief, traceFilter } from '../../shared/rollout-text/trace-row.ts'

const options = z.strictObject({
  times: z.int().min(2).default(5).describe('This many repetitions in a row are a loop.'),
  period: z.int().positive().default(3).describe('The most turns that one repetition may have.'),
})

/** Drops traces in which the agent repeats the same turns over and over. Merely waiting for output is not a loop. */
export default definePlugin({
  name: 'filters/rollouts/no-loops',
  summary: 'Drop traces in which the agent repeats the same commands',
  options,
  make: ({ times, period }) =>
    traceFilter((row) => {
      const turns = agentTurns(row).filter(says)
      const keys = turns.map(keyOf)
      for (let length = 1; length <= period; length++) {
        const at = loopIn(keys, length, times)
        if (at === null) continue
        const [first, last] = [turns[at], turns[at + length * times - 1]]
        const what = brief(first?.commands[0]?.text ?? first?.content ?? '')
        return {
          reason: 'repeats-itself',
          detail: `turns ${first?.number} to ${last?.number}: ${JSON.stringify(what)}`,
        }
      }
      return true
    }),
})

/** A turn that only waits has commands, but all of them are empty. */
function says({ commands }: AgentTurn): boolean {
  return commands.length === 0 || commands.some(({ text }) => text.trim() !== '')
}

function keyOf({ commands, content }: AgentTurn): string {
  return commands.length > 0 ? commands.map(({ key }) => key).join('\0') : content.trim()
}

/** Where a sequence of turns first repeats too many times in a row. */
function loopIn(keys: readonly string[], length: number, times: number): number | null {
  let same = 0
  for (let i = length; i < keys.length; i++) {
    same = keys[i] === keys[i - length] ? same + 1 : 0
    if (same === length * (times - 1)) return i - length * times + 1
  }
  return null
}
