import type { Dropped } from '../../../core/stage.ts'
import { type Answer, type AskAt, ask, type Question } from '../asking/ask.ts'
import { asText, BadReply, type ReplyForm } from '../asking/forms.ts'
import { givenAway } from '../authoring/review-draft.ts'
import { bindingDetails, lostDetails, type TaskTexts } from './details.ts'

/** Ways to rewrite an instruction without changing the task's files, tests and solution. */
const manners = {
  rewrite: `Say the same in other words, as another person would write it: another order, another tone, other sentences. Everything that is asked for stays, and nothing is added.`,
  'new-context': `Put it into another setting: another occasion, another team, another reason why it is needed. What has to be done, with which files and with what result, stays exactly the same.`,
  harden: `Make it harder to solve without changing what counts as solved: leave out hints, steps and explanations of how to go about it, and say only what the result has to be. Whoever reads it must still be able to know every demand on the result.`,
  constrain: `Add one constraint on how the work is done that a good engineer could meet and that makes it harder, for example tools that must not be used, or files that must not be touched. The known solution must meet the constraint, and the demands on the result stay exactly the same.`,
} as const
export type Manner = keyof typeof manners

export interface Rewriting {
  readonly manner: Manner
  /** Which of several rewrites this is, from 1. */
  readonly variant: number
  readonly how: Omit<Question, 'prompt' | 'form'>
}

/**
 * Rewrites an instruction. A rewrite that loses a detail the tests depend on, repeats the old one, or gives the
 * solution away is returned to the model, and dropped if that does not help.
 */
export function rewriteInstruction(
  task: TaskTexts,
  { manner, variant, how }: Rewriting,
  at: AskAt,
): Promise<Answer<string> | Dropped> {
  const details = bindingDetails(task)
  const form: ReplyForm<string> = {
    rules: null,
    read(text) {
      const told = unwrapped(asText.read(text))
      // If the list of details were repeated, none would be lost.
      if (ownWords.test(told)) throw new BadReply('it repeats the question')
      const lost = lostDetails(details, told)
      if (lost.length > 0) throw new BadReply(`it lost ${lost.slice(0, 10).map(quote).join(', ')}`)
      if (told === task.instruction.trim()) throw new BadReply('it is the old one, word for word')
      const leak = givenAway(told, task.solution)
      if (leak !== null && givenAway(task.instruction, task.solution) === null)
        throw new BadReply(`it gives the solution away: ${quote(leak)}`)
      return told
    },
  }
  return ask({ ...how, prompt: promptFor(task, manner, variant, details), form }, at)
}

/** Phrases that only the question contains. */
const ownWords = /judged by the same tests as before|must be in it, letter by letter|<\/?instruction>/i

function promptFor(task: TaskTexts, manner: Manner, variant: number, details: readonly string[]): string {
  const kept = details.length === 0 ? '' : `\nThese must be in it, letter by letter: ${details.map(quote).join(', ')}.`
  const solution =
    manner === 'constrain'
      ? `\nThe known solution, which must stay secret:\n<solution>\n${task.solution.slice(0, 8000)}\n</solution>\n`
      : ''
  const nth = variant > 1 ? ` This is telling number ${variant}: make it unlike the obvious one.` : ''
  return `Below is the instruction of a task for an agent in a terminal. ${manners[manner]}${nth}

The task is judged by the same tests as before, which you do not see: paths, names, formats and values must stay as they are.${kept}
Do not solve the task and give no part of a solution. Answer with the new instruction alone.
${solution}
<instruction>
${task.instruction.trim()}
</instruction>`
}

/** Models often repeat the marks around what they were given. */
function unwrapped(text: string): string {
  return text
    .replace(/^<instruction>\n?/, '')
    .replace(/\n?<\/instruction>$/, '')
    .trim()
}

function quote(text: string): string {
  return JSON.stringify(text)
}
