import type { SyntaxNode } from '@lezer/common'
import type { ModelClient } from '../../../core/model.ts'
import type { Dropped } from '../../../core/stage.ts'
import { digestJson } from '../../../lib/digest-json.ts'
import type { Bench } from './bench.ts'
import { findLeak, type IssueFacts } from './issue.ts'
import { mutate } from './mutate.ts'
import { renderExample } from './reproduce/render-examples.ts'
import { parseSource, type Source } from './source.ts'

/** What a model wrote, and by which prompt. */
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
with its result. Name no file, no line and no cause, propose no fix, and do not mention tests. Start with a title as a Markdown heading.`

/** A function as a model rewrote it: the whole file with it, or why there is none. */
export async function askForBug(
  model: ModelClient,
  source: Source,
  node: SyntaxNode,
  signal: AbortSignal,
): Promise<Written | Dropped> {
  // Blocks of Python reach over their last line end, which stays.
  const code = source.text.slice(node.from, node.to).trimEnd()
  const fence = source.language === 'python' ? 'python' : 'js'
  const reply = await ask(model, bugPrompt, `\`\`\`${fence}\n${code}\n\`\`\``, signal)
  if ('drop' in reply) return reply
  const block = /```[\w-]*\n([\s\S]*?)\n?```/.exec(reply.text)?.[1]
  if (block === undefined) return { drop: 'no-code', detail: 'expected one fenced code block' }
  const text = mutate(source, [
    { from: node.from, to: node.from + code.length, insert: indentLike(block, source, node) },
  ])
  if (text === null) return { drop: 'does-not-parse', detail: 'the rewritten function does not parse' }
  if (withoutComments(source.path, text) === withoutComments(source.path, source.text))
    return { drop: 'no-change', detail: 'the rewritten function does the same' }
  if (commentsOf(source.path, text).some((comment) => !source.text.includes(comment)))
    return { drop: 'leaky-comment', detail: 'the rewritten function has a comment of its own' }
  return { text, promptDigest: reply.promptDigest }
}

/** The files that hold the bug, and the project they belong to. */
export interface Change {
  readonly changed: Readonly<Record<string, string>>
  readonly bench: Bench
}

/** An issue in a user's words. It is asked for twice at most; one that gives the bug away is not used. */
export async function askForIssue(
  model: ModelClient,
  facts: IssueFacts,
  { changed, bench }: Change,
  signal: AbortSignal,
): Promise<Written | Dropped> {
  const programs = facts.examples.slice(0, 3).map(renderExample)
  const shown = programs.length > 0 ? programs.join('\n\n') : `What goes wrong:\n${facts.symptoms.join('\n')}`
  const seen = `Project: ${facts.name}\n\n${shown}`
  let leak = ''
  for (const again of ['', '\n\nYour first draft gave the cause away. Speak only of what a user sees.']) {
    const reply = await ask(model, issuePrompt, seen + again, signal)
    if ('drop' in reply) return reply
    const found = reply.text.trim() === '' ? 'says nothing' : findLeak(reply.text, changed, bench, facts.failToPass)
    if (found === null) return reply
    leak = found
  }
  return { drop: 'leaky-issue', detail: `the issue ${leak}` }
}

async function ask(model: ModelClient, system: string, user: string, signal: AbortSignal): Promise<Written | Dropped> {
  const messages = [
    { role: 'system', content: system },
    { role: 'user', content: user },
  ] as const
  const outcome = await model.complete({ messages }, { signal })
  if (outcome.kind !== 'reply')
    return { drop: outcome.kind, detail: outcome.kind === 'budget-exceeded' ? outcome.budget : outcome.message }
  return { text: outcome.reply.text, promptDigest: digestJson(messages) }
}

/** Models answer at the margin; a method stands further in. */
function indentLike(block: string, { text }: Source, { from }: SyntaxNode): string {
  const margin = /[ \t]*$/.exec(text.slice(0, from))?.[0] ?? ''
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
