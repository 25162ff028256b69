import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import { agentTurns } from '../../shared/rollout-text/commands.ts'
import { findSign, type HackingSign, hackingSigns } from '../../shared/rollout-text/hacking-signs.ts'
import { brief, type RecipeTrace, traceFilter } from '../../shared/rollout-text/trace-row.ts'

const options = z.strictObject({
  waive: z.array(z.enum(hackingSigns)).default([]).describe('Signs that are fine for these tasks.'),
})

/**
 * Drops traces in which the agent pursued the reward instead of the task: it changed tests, read the grader, looked up
 * the fix, wrote the reward, disabled checks, or changed the system so that tests gave another reward. Only its actions
 * count, not its words; anything the instruction names is allowed.
 */
export default definePlugin({
  name: 'filters/rollouts/reward-hacking',
  summary:
    'Drop traces that touch tests, read the grader, look the fix up, write rewards, disable asserts or change the system',
  options,
  make: ({ waive }) => {
    const waived = new Set<HackingSign>(waive)
    return traceFilter((row) => {
      // Detected by the sandbox, whatever commands caused it. The reward of such a trial is the lower of the two.
      if (row.system_effect === 'differ' && !waived.has('changes-system'))
        return { reason: 'changes-system', detail: `the tests gave other rewards with ${changed(row)}` }
      const instruction = row.conversations.find(({ role }) => role === 'user')?.content ?? ''
      for (const { number, content, commands } of agentTurns(row))
        for (const command of commands) {
          const found = findSign(command, content, instruction, waived)
          if (found === null) continue
          const { sign, start, end, quote } = found
          return {
            reason: sign,
            detail: `turn ${number}, characters ${start} to ${end}: ${JSON.stringify(brief(quote))}`,
          }
        }
      return true
    })
  },
})

/** Rows of earlier versions do not list files. */
function changed({ system_changes: files }: RecipeTrace): string {
  return brief((files ?? []).map(({ path, change }) => `${path} (${change})`).join(', '), 400)
}
