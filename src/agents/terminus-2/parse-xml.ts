import { type Command, type Dialect, defaultDurationSec, type Parsed, unusable } from './parsed.ts'

/** Replies as a `<response>` of sections, whose keystrokes are plain text and not XML. */
export const xmlDialect: Dialect = { replyName: 'response', parse: parseXmlReply, isWhole }

const openTag = '<response>'
const closeTag = '</response>'
const sectionNames = ['analysis', 'plan', 'commands', 'task_complete'] as const
type SectionName = (typeof sectionNames)[number]

/** Parses a reply; a missing end is filled in, which is reported. */
export function parseXmlReply(reply: string): Parsed {
  const start = reply.indexOf(openTag)
  if (start < 0) return unusable('No <response> tag found')
  const warnings: string[] = []
  if (reply.slice(0, start).trim() !== '') warnings.push('Text before <response> was ignored')
  const close = reply.indexOf(closeTag, start)
  if (close >= 0 && reply.slice(close + closeTag.length).trim() !== '') {
    warnings.push(`Text after ${closeTag} was ignored`)
    if (reply.indexOf(openTag, start + 1) >= 0) warnings.push(`Only the first ${openTag} was read; send one at a time`)
  }
  const body = reply.slice(start + openTag.length, close < 0 ? undefined : close)
  if (body.trim() === '') return unusable('No <response> tag found', warnings)
  const sections = readSections(body, warnings)
  const isComplete = sections.get('task_complete')?.trim().toLowerCase() === 'true'
  const commands = sections.get('commands')
  for (const name of ['analysis', 'plan', 'commands'] as const) {
    if (!sections.has(name)) warnings.push(`No <${name}> section`)
  }
  if (commands === undefined && !isComplete) return unusable('Missing <commands> section', warnings)
  return {
    analysis: sections.get('analysis')?.trim() ?? '',
    plan: sections.get('plan')?.trim() ?? '',
    commands: readCommands(commands ?? '', warnings),
    isComplete,
    error: '',
    warnings,
  }
}

function isWhole(reply: string): boolean {
  return reply.includes(closeTag) && parseXmlReply(reply).error === ''
}

/** Goes from one tag to the next, so that text inside a section is never mistaken for a tag. */
function readSections(body: string, warnings: string[]): Map<SectionName, string> {
  const found = new Map<SectionName, string>()
  let at = 0
  for (;;) {
    const tag = /<([A-Za-z_][\w-]*)\s*(\/?)>/g
    tag.lastIndex = at
    const match = tag.exec(body)
    if (match === null) break
    const [whole, name = '', selfClosing] = match
    at = match.index + whole.length
    const end = selfClosing ? at : body.indexOf(`</${name}>`, at)
    const text = body.slice(at, end < 0 ? undefined : end)
    if (end < 0) warnings.push(`<${name}> is not closed`)
    at = end < 0 ? body.length : selfClosing ? at : end + name.length + 3
    const known = sectionNames.find((section) => section === name)
    if (known === undefined) warnings.push(`Unknown tag <${name}> was ignored`)
    else if (found.has(known)) warnings.push(`More than one <${name}> section; the first was used`)
    else found.set(known, text)
  }
  const order = [...found.keys()].map((name) => sectionNames.indexOf(name))
  if (order.some((place, i) => i > 0 && place < (order[i - 1] ?? 0))) {
    warnings.push('Sections are out of order; expected analysis, plan, commands, task_complete')
  }
  return found
}

function readCommands(text: string, warnings: string[]): Command[] {
  const { blocks, rest, isCut } = keystrokeBlocks(text)
  const commands = blocks.map(({ attributes, keystrokes }, i) => {
    const label = `Command ${i + 1}`
    if (i < blocks.length - 1 && !keystrokes.endsWith('\n')) {
      warnings.push(`${label} does not end with a newline, so the next command is typed onto the same line`)
    }
    return { keystrokes, durationSec: durationOf(attributes, label, warnings) }
  })
  for (const entity of ['&lt;', '&gt;', '&amp;', '&quot;', '&apos;']) {
    if (text.includes(entity))
      warnings.push(`The XML entity ${entity} is typed as it stands; write the character itself`)
  }
  if (text.includes('\\r\\n')) warnings.push('Keystrokes hold \\r\\n; a plain newline is enough')
  if (isCut) warnings.push('A <keystrokes> without its </keystrokes> was ignored')
  else if (rest.trim() !== '') warnings.push('Text in <commands> outside of <keystrokes> was ignored')
  else if (commands.length === 0) warnings.push('No commands: nothing was typed')
  return commands
}

interface Blocks {
  readonly blocks: { readonly attributes: string; readonly keystrokes: string }[]
  /** The text outside the sections. */
  readonly rest: string
  /** Whether the last one is unterminated. */
  readonly isCut: boolean
}

const keysOpen = '<keystrokes'
const keysClose = '</keystrokes>'

function keystrokeBlocks(text: string): Blocks {
  const blocks: Blocks['blocks'] = []
  let rest = ''
  let at = 0
  for (let start = text.indexOf(keysOpen); start >= 0; start = text.indexOf(keysOpen, at)) {
    rest += text.slice(at, start)
    const body = text.indexOf('>', start) + 1
    const end = body === 0 ? -1 : text.indexOf(keysClose, body)
    if (end < 0) return { blocks, rest, isCut: true }
    const attributes = text.slice(start + keysOpen.length, body - 1)
    blocks.push({ attributes: attributes.slice(0, 500), keystrokes: text.slice(body, end) })
    at = end + keysClose.length
  }
  return { blocks, rest: rest + text.slice(at), isCut: false }
}

function durationOf(attributes: string, label: string, warnings: string[]): number {
  let duration: string | undefined
  let rest = attributes
  for (const [whole, name = '', double, single] of attributes.matchAll(attribute)) {
    rest = rest.replace(whole, '')
    if (double === undefined) warnings.push(`${label}: write attributes with double quotes, as in ${name}="1.0"`)
    if (name === 'duration') duration = double ?? single
    else warnings.push(`${label} has an attribute that means nothing: ${name}`)
  }
  if (rest.trim() !== '') warnings.push(`${label} has something in its tag that means nothing: ${rest.trim()}`)
  const seconds = duration === undefined || duration.trim() === '' ? Number.NaN : Number(duration)
  if (Number.isFinite(seconds)) return seconds
  const what = duration === undefined ? 'has no duration' : 'has a duration that is no number'
  warnings.push(`${label} ${what}; ${defaultDurationSec.toFixed(1)} was used`)
  return defaultDurationSec
}

const attribute = /([A-Za-z_][\w-]*)\s*=\s*(?:"([^"]*)"|'([^']*)'|[^\s"'>]+)/g
