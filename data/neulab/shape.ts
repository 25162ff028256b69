import { type RawRow, z } from 'ot-agent'

// Raw rows and rows prepared for training name the parts of a turn differently.
const turn = z.union([
  z.object({ from: z.string(), value: z.string() }).transform(({ from, value }) => ({ who: from, text: value })),
  z.object({ role: z.string(), content: z.string() }).transform(({ role, content }) => ({ who: role, text: content })),
])
const row = z.object({ conversations: z.array(turn).min(2) })
type Turn = z.output<typeof turn>

/** What an agent lacks without the original environment: pages, rooms, machines, tables it sees only part of. */
const ownWorld =
  /https?:\/\/|\bweb ?(?:page|site|shop)|\bbrowser\b|\brepository\b|\/workspace\b|\byou are in (?:a|the)\b|\bhousehold\b|\b(?:current |home |in the )director(?:y|ies)\b|\boperating system\b|\bthe (?:database|system|server|os)\b|\bpreloaded\b|\bonly the first \d+ rows\b|\bknowledge base\b/i

/**
 * What the user wants, without the original agent's conversation rules; an empty solution means that nothing can be
 * checked.
 */
export function shape(given: RawRow): RawRow {
  const parsed = row.safeParse(given.fields)
  if (!parsed.success) return given
  const turns = parsed.data.conversations
  const task = taskIn(turns.find(isUser)?.text ?? '')
  const replies = turns.filter((own) => !isUser(own) && own.who !== 'system')
  const solution = solutionIn(replies.at(-1)?.text ?? '')
  const last = turns.at(-1)
  const isWrong = last !== undefined && isUser(last) && /\b(?:wrong|incorrect)\b/i.test(last.text)
  // What was looked up elsewhere cannot be found in a sandbox.
  const looksUp = replies.some(({ text }) => /\bwikipedia_search\(/.test(text))
  const counts = solution !== null && !isWrong && !looksUp && !ownWorld.test(task)
  return { ...given, fields: { task, solution: counts ? solution : '' } }
}

function isUser({ who }: Turn): boolean {
  return who === 'human' || who === 'user'
}

function solutionIn(text: string): string | null {
  const found = /<solution>\s*([\s\S]*?)\s*<\/solution>|final answer(?: is)?:?\s*(\S+)/i.exec(text)
  return found ? (found[1] ?? found[2] ?? '') : null
}

/** Paragraphs about the conversation itself. */
const protocol =
  /^(?:you are a(?:n|\b)[^\n]*\bassistant\b|at each turn\b|\d\) (?:interact with|directly provide)|you have \d+ (?:chances|steps)|tool functions? available|\[\d+\] \w+\(|you (?:should|must|can) (?:first|use|write)\b|your answer should\b|if you think you have got the answer|<solution>)/i

/** The task alone. Conversation rules and a list of documented functions may come before or after it. */
function taskIn(text: string): string {
  return withoutFunctions(text)
    .split(/\n\s*\n/)
    .map(
      (paragraph) => paragraph.split(/\n(?=you (?:should|must|can) (?:first|use|write)|your answer should)/i)[0] ?? '',
    )
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== '' && !protocol.test(paragraph))
    .join('\n\n')
    .replace(/^(?:task|question)\s*:\s*/i, '')
    .trim()
}

/**
 * Without functions that are missing here: the line that announces them, and each signature with the indented lines
 * below it.
 */
function withoutFunctions(text: string): string {
  const lines = text.split('\n')
  const announces = /\bfunctions\b[^\n]*:\s*$|\bpre-defined functions\b/i
  const start = lines.findIndex((line) => announces.test(line))
  if (start < 0) return text
  const isDocumented = (line: string) =>
    line.trim() === '' || /^\s+\S/.test(line) || /^\w+\([^)]*\)(?: -> .*)?$/.test(line)
  const after = lines.slice(start + 1).findIndex((line) => !isDocumented(line))
  return [...lines.slice(0, start), '', ...(after < 0 ? [] : lines.slice(start + 1 + after))].join('\n')
}
