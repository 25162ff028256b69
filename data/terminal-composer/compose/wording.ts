import { type Draws, makeDraws } from 'ot-agent'

/** `usual` asks for each thing in one or two ways, `many` in several; the tasks are otherwise the same. */
export const wordings = ['usual', 'many'] as const
export type Wordings = (typeof wordings)[number]

/** Chooses words for an instruction. Its choices change nothing else about a task. */
export interface Words {
  /** The usual wording, or one of all wordings where many are wanted. */
  say(usual: string, others: readonly string[]): string
  /** The paragraphs of an instruction, sometimes with a sentence around them that asks for nothing. */
  frame(paragraphs: readonly string[]): readonly string[]
}

/** The words for the task at an index of a sample. */
export function wordsFor(wanted: Wordings, seed: number, index: number): Words {
  if (wanted === 'usual') return { say: (usual) => usual, frame: (paragraphs) => paragraphs }
  const random = makeDraws(seed, `words/${index}`)
  return {
    say: (usual, others) => random.pick([usual, ...others]),
    frame: (paragraphs) => framed(random, paragraphs),
  }
}

const before = [
  'Please take care of the following.',
  'Here is what I need.',
  'I need a hand with something on this machine.',
  'There is a small job to do here.',
  'Could you do this for me?',
  'A task for the command line:',
]
const after = [
  'Thanks!',
  'That is all.',
  'Check your work before you finish.',
  'Use whatever tools the machine has.',
  'The work is checked automatically, so follow the details exactly.',
]

function framed(random: Draws, paragraphs: readonly string[]): readonly string[] {
  const [opening, closing] = [random.chance(0.25), random.chance(0.25)]
  return [...(opening ? [random.pick(before)] : []), ...paragraphs, ...(closing ? [random.pick(after)] : [])]
}
