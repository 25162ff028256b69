import type { SyntaxNode } from '@lezer/common'
import type { ModelClient } from '../../../core/model.ts'
import type { Dropped } from '../../../core/stage.ts'
import { type AskAt, ask } from '../../shared/asking/ask.ts'
import { asText, BadReply, type ReplyForm } from '../../shared/asking/forms.ts'
import type { Bench } from './bench.ts'
import { findLeak, type IssueFacts, squeeze } from './issue.ts'
import { mutate } from './mutate.ts'
import type { Example } from './reproduce/example.ts'
import { renderExample } from './reproduce/render-examples.ts'
import { parseSource, type Source } from './source.ts'

/** What a model wrote, and the prompt it wrote it for. */
export interface Written {
  readonly text: string
  readonly promptDigest: string
}

const bugPrompt = `You make exercises for debugging. Rewrite the function below so that it holds one subtle, realistic bug: a mistake a
tired colleague could make, in the logic and not in the spelling. It has to run, keep its name and its parameters, and be wrong
for some inputs while it stays right for others. Add no comment and say nothing about the bug.

Answer with the whole rewritten function in one fenced code block and nothing else.`

const issuePrompt = `You report a bug in a project that you use and whose source you have not read. From programs that show it, or from what
goes wrong, write an issue of 60 to 200 words: what you did, what you expected, what happened instead. Keep a program that shows it,
with its result and the expected one, as they are. Name no file, no line and no cause, propose no fix, and do not mention tests. Start
with a title as a Markdown heading.`

/** Which model to ask, and where replies are kept. */
type Asking = AskAt & { readonly model: ModelClient }

/** A function rewritten by a model: the whole file with it, or why there is none. */
export async function askForBug(source: Source, node: SyntaxNode, at: Asking): Promise<Written | Dropped> {
  // Python blocks extend past their final line break, which stays.
  const code = source.text.slice(node.from, node.to).trimEnd()
  const fence = source.language === 'python' ? 'python' : 'js'
  const prompt = `\`\`\`${fence}\n${code}\n\`\`\``
  // A single try: another function will do just as well.
  const answer = await ask({ prompt, system: bugPrompt, tries: 1 }, at)
  if ('drop' in answer) return answer
  const block = /```[\w-]*\n([\s\S]*?)\n?```/.exec(answer.value)?.[1]
  if (block === undefined) return { drop: 'no-code', detail: 'expected one fenced code block' }
  const text = mutate(source, [
    { from: node.from, to: node.from + code.length, insert: indentLike(block, source, node) },
  ])
  if (text === null) return { drop: 'does-not-parse', detail: 'the rewritten function does not parse' }
  if (withoutComments(source.path, text) === withoutComments(source.path, source.text))
    return { drop: 'no-change', detail: 'the rewritten function does the same' }
  if (commentsOf(source.path, text).some((comment) => !source.text.includes(comment)))
    return { drop: 'leaky-comment', detail: 'the rewritten function has a comment of its own' }
  return { text, promptDigest: answer.promptDigest }
}

/** The files that contain the bug, and the project they belong to. */
export interface Change {
  readonly changed: Readonly<Record<string, string>>
  readonly bench: Bench
}

/**
 * An issue in a user's words. The model gets at most two tries; an issue that gives the bug away or does not show it is
 * not used.
 */
export async function askForIssue(
  facts: IssueFacts,
  { changed, bench }: Change,
  at: Asking,
): Promise<Written | Dropped> {
  const programs = facts.examples.slice(0, shownExamples).map(renderExample)
  const shown = programs.length > 0 ? programs.join('\n\n') : `What goes wrong:\n${facts.symptoms.join('\n')}`
  let leak: string | null = null
  const form: ReplyForm<string> = {
    rules: null,
    read(text) {
      const issue = asText.read(text)
      leak = findLeak(issue, changed, bench, facts.failToPass)
      if (leak !== null) throw new BadReply(`the issue ${leak}; speak only of what a user sees`)
      const problem = unlikeAnIssue(issue, facts)
      if (problem !== null) throw new BadReply(problem)
      return issue
    },
  }
  const prompt = `Project: ${facts.name}\n\n${shown}`
  const answer = await ask({ prompt, system: issuePrompt, form, tries: 2 }, at)
  if (!('drop' in answer)) return { text: answer.value, promptDigest: answer.promptDigest }
  if (answer.drop !== 'bad-reply') return answer
  return leak === null ? { ...answer, drop: 'bad-issue' } : { drop: 'leaky-issue', detail: `the issue ${leak}` }
}

const shownExamples = 3
const maxIssueWords = 600

/** Why a text is not a proper report of this bug, worded for its author; null when it is. */
function unlikeAnIssue(text: string, { examples, symptoms }: IssueFacts): string | null {
  if (!/^#{1,3} +\S/.test(text)) return 'expected a title as a Markdown heading in the first line'
  const words = text.split(/\s+/).length
  if (words > maxIssueWords) return `expected at most 200 words, got ${words}`
  const said = squeeze(text)
  const has = (part: string) => said.includes(squeeze(part))
  if (examples.length === 0)
    return symptoms.some(has) ? null : 'expected one line of what goes wrong, as it is, found none'
  const isShown = ({ program, actual, expected }: Example) => {
    const [first, ...rest] = said.split(squeeze(program.expr))
    // A result that appears only in the program was not reported.
    return (
      rest.length > 0 && [actual, expected].every((one) => [first, ...rest].join(' ').includes(squeeze(seenOf(one))))
    )
  }
  return examples.slice(0, shownExamples).some(isShown)
    ? null
    : 'expected one of the programs with its result and the expected one, as they are, found none'
}

/** The part of a result that a report must mention. */
function seenOf({ kind, text, type }: Example['actual']): string {
  return kind === 'value' ? text : kind === 'error' ? type : ''
}

/** Models write code without indentation; a method is indented further. */
function indentLike(block: string, { text }: Source, { from }: SyntaxNode): string {
  const margin = /(?<![ \t])[ \t]*$/.exec(text.slice(0, from))?.[0] ?? ''
  const lines = block.split('\n')
  const own = /^[ \t]*/.exec(lines[0] ?? '')?.[0].length ?? 0
  const moved = lines.map((line, i) =>
    line.trim() === '' ? '' : `${i === 0 ? '' : margin}${line.slice(Math.min(own, line.search(/\S/)))}`,
  )
  return moved.join('\n').trimEnd()
}

function commentsOf(path: string, text: string): string[] {
  const comments: string[] = []
  parseSource(path, text)?.tree.iterate({
    enter: ({ name, from, to }) => {
      if (/Comment$/.test(name)) comments.push(text.slice(from, to))
    },
  })
  return comments
}

function withoutComments(path: string, text: string): string {
  return commentsOf(path, text)
    .reduce((rest, comment) => rest.replace(comment, ''), text)
    .replace(/\s+/g, ' ')
}
