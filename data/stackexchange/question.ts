import { type RawRow, z } from 'ot-agent'

const code = z.array(z.object({ text: z.string(), language: z.string().nullable(), before: z.string() }))
const answer = z.object({
  score: z.number(),
  accepted: z.boolean(),
  /** Whether the asker wrote it. */
  isOwn: z.boolean().default(false),
  /** How many comments readers left on it. */
  comments: z.number().default(0),
  body: z.string(),
  code,
})
const question = z.object({
  title: z.string(),
  day: z.string().nullable().default(null),
  body: z.string(),
  code,
  answer,
  otherAnswers: z.array(answer).default([]),
})

/** The code blocks of a post, in order. */
export type Blocks = z.output<typeof code>
export type PostAnswer = z.output<typeof answer>
export type Question = z.output<typeof question>

/** A row from the reader of dumps; null if it is something else. */
export function readQuestion({ fields }: RawRow): Question | null {
  return question.safeParse(fields).data ?? null
}

/** All usable answers, best first. */
export function answersOf({ answer, otherAnswers }: Question): readonly PostAnswer[] {
  return [answer, ...otherAnswers]
}

/** Whether a title asks for an explanation: then code in the answers is an example, not what was asked for. */
export function asksToExplain(title: string): boolean {
  return (
    /^(?:why|when|are|was|does|did|should|which)\b|^do (?:i|we)\b|\bdifferences? between\b/i.test(title) ||
    /^is\b(?! there\b| it possible\b)/i.test(title) ||
    /^what (?:is|are|does|makes)\b(?! the (?:best|easiest|simplest|fastest|right|most)\b)/i.test(title)
  )
}

/**
 * How many people endorse an answer: its votes, plus the asker if they accepted it. Authors cannot vote for their own
 * answers, and accepting one's own means nothing.
 */
export function endorsements({ score, accepted, isOwn }: PostAnswer): number {
  return score + (accepted && !isOwn ? 1 : 0)
}

/** A text without its fenced blocks of code and the blank lines after them, or with something in their place. A fence that nothing closes is text. */
export function proseOf(markdown: string, instead = '\n'): string {
  const lines = markdown.split('\n')
  const prose: string[] = []
  const noneAfter = new Set<number>()
  for (let at = 0; at < lines.length; at++) {
    const fence = /^(?:> )*(`{3,})/.exec(lines[at] ?? '')?.[1] ?? ''
    // Looked for once for each length, so that many open fences are read at once.
    const end = fence === '' || noneAfter.has(fence.length) ? -1 : endOf(fence, lines, at + 2)
    if (end >= 0) {
      prose.push(instead)
      for (at = end; lines[at + 1]?.trim() === ''; ) at++
    } else {
      if (fence !== '') noneAfter.add(fence.length)
      prose.push(lines[at] ?? '')
    }
  }
  return prose.join('\n')
}

/** The line that closes a fence: as many backquotes and nothing else. */
function endOf(fence: string, lines: readonly string[], from: number): number {
  for (let at = from; at < lines.length; at++) if (/^(?:> )*(`+)\s*$/.exec(lines[at] ?? '')?.[1] === fence) return at
  return -1
}

/** The question can be read in several ways, so no other method can make a task from it either. */
export const answersDiffer = 'answers-differ'
