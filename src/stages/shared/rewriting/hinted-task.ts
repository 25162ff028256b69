import type { TaskRow } from '../../../core/row.ts'
import { type Dropped, isDropped, type StageContext } from '../../../core/stage.ts'
import { ask, type Question } from '../asking/ask.ts'
import { asList, BadReply, type ReplyForm } from '../asking/forms.ts'
import { givenAway } from '../authoring/review-draft.ts'
import { agentTurns } from '../rollout-text/commands.ts'
import type { RecipeTrace } from '../rollout-text/trace-row.ts'
import { retoldTask } from './retold-task.ts'

type How = Pick<Question, 'system' | 'temperature' | 'maxOutputTokens' | 'tries'> & { readonly hints: number }

/**
 * Adds hints below a task's instruction, made from the trace of an agent that solved it; hints that give the solution
 * away are returned to the model.
 */
export async function hintedTask(
  row: TaskRow,
  trace: RecipeTrace,
  how: How,
  at: StageContext,
): Promise<TaskRow | Dropped> {
  return retoldTask(row, { manner: 'hints', suffix: 'hints' }, at, async ({ instruction, solution }) => {
    const done = agentTurns(trace).flatMap(({ commands }) => commands.map(({ text }) => text))
    const form = hintsThatHide(how.hints, `${solution}\n${done.join('\n')}`)
    const { system, temperature, maxOutputTokens, tries } = how
    const asking = { system, temperature, maxOutputTokens, tries, id: row.id, form }
    const told = await ask({ ...asking, prompt: promptFor(instruction, done, how.hints) }, at)
    if (isDropped(told)) return told
    const hints = told.value.map((hint) => `- ${hint.replace(/\s+/g, ' ').trim()}`).join('\n')
    return { instruction: `${instruction.trimEnd()}\n\nHints:\n\n${hints}`, told }
  })
}

function hintsThatHide(most: number, secret: string): ReplyForm<readonly string[]> {
  const list = asList(most)
  return {
    ...list,
    read(text) {
      const hints = list.read(text)
      const leak = givenAway(hints.join('\n'), secret)
      if (leak !== null) throw new BadReply(`it gives the way away: ${JSON.stringify(leak.slice(0, 200))}`)
      return hints
    },
  }
}

/** How much of the trace is shown. */
const limitChars = 20_000

function promptFor(instruction: string, done: readonly string[], hints: number): string {
  return `An agent in a terminal solved the task below. Write up to ${hints} short hints for the next one who tries it: what to look at first, what is easily overlooked, which idea makes it work. A hint helps to find the way; it contains no commands, no code and no results.

<instruction>
${instruction.trim()}
</instruction>

What the agent did, in order:
<commands>
${done.join('\n').slice(0, limitChars)}
</commands>`
}
