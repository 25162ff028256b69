/** Keyboard modes that the program in the terminal has requested. */
export interface KeyModes {
  readonly applicationCursor: boolean
}

/** The key for a line end: tmux sends the character itself, which is C-j; on a keyboard it is Enter. */
export type NewlineKey = 'C-j' | 'Enter'

/**
 * The bytes of keystrokes. A text that as a whole is a key name in tmux (`C-c`, `Enter`, `M-x`, `F1`, in any case) is
 * that key; any other text is typed literally.
 */
export function encodeKeystrokes(text: string, modes: KeyModes, newline: NewlineKey = 'C-j'): string {
  return keyBytes(text, modes) ?? (newline === 'Enter' ? typed(text) : text)
}

/**
 * The bytes of a text pasted into a program with bracketed paste, which does not run its lines one by one. A final line
 * end is typed.
 */
export function encodePaste(text: string): string {
  let end = text.length
  while (text[end - 1] === '\n' || (text[end - 1] === '\r' && text[end] === '\n')) end--
  const body = text.slice(0, end)
  return `\x1b[200~${withoutMarks(typed(body))}\x1b[201~${typed(text.slice(end))}`
}

const pasteMarks = ['\x1b[200~', '\x1b[201~']

function withoutMarks(text: string): string {
  const rest = pasteMarks.reduce((left, mark) => left.replaceAll(mark, ''), text)
  // Removing a mark may have joined its surroundings into another one.
  return pasteMarks.some((mark) => rest.includes(mark)) ? rest.replaceAll('\x1b', '') : rest
}

function typed(text: string): string {
  return text.replace(/\r?\n/g, '\r')
}

interface Modifiers {
  readonly control: boolean
  readonly meta: boolean
  readonly shift: boolean
}

function keyBytes(text: string, modes: KeyModes): string | null {
  const caret = /^\^(.+)$/s.exec(text)
  const [, prefix = '', name = ''] = caret ? [null, 'c-', caret[1]] : (/^((?:[CMS]-)*)(.+)$/is.exec(text) ?? [])
  const has = (letter: string) => prefix.toLowerCase().includes(letter)
  const held = { control: has('c'), meta: has('m'), shift: has('s') }
  const known = name.toLowerCase()
  if (Object.hasOwn(simple, known)) return simpleKey(known, held)
  const sequence = movingKey(known, held, modes)
  if (sequence !== null) return sequence
  if (prefix === '' || held.shift || [...name].length !== 1) return null
  const char = held.control ? controlChar(name) : name
  return char && (held.meta ? `\x1b${char}` : char)
}

const simple: Readonly<Record<string, string>> = {
  enter: '\r',
  escape: '\x1b',
  tab: '\t',
  btab: '\x1b[Z',
  bspace: '\x7f',
  space: ' ',
}

function simpleKey(name: string, { control, meta, shift }: Modifiers): string | null {
  if (shift) return null
  const char = control && name === 'space' ? '\0' : control && name === 'bspace' ? '\b' : (simple[name] ?? '')
  return meta ? `\x1b${char}` : char
}

/** Cursor keys, by the final letter of their sequence. */
const letters: Readonly<Record<string, string>> = { up: 'A', down: 'B', right: 'C', left: 'D' }
/** Keys that are sent with a number without modifiers, and with a letter otherwise. */
const ends: Readonly<Record<string, { readonly number: number; readonly letter: string }>> = {
  home: { number: 1, letter: 'H' },
  end: { number: 4, letter: 'F' },
}
const numbers: Readonly<Record<string, number>> = {
  ic: 2,
  insert: 2,
  dc: 3,
  delete: 3,
  ppage: 5,
  pageup: 5,
  pgup: 5,
  npage: 6,
  pagedown: 6,
  pgdn: 6,
  ...Object.fromEntries([15, 17, 18, 19, 20, 21, 23, 24].map((number, i) => [`f${i + 5}`, number])),
}
const functions: Readonly<Record<string, string>> = { f1: 'P', f2: 'Q', f3: 'R', f4: 'S' }

function movingKey(name: string, { control, meta, shift }: Modifiers, modes: KeyModes): string | null {
  const held = 1 + Number(shift) + 2 * Number(meta) + 4 * Number(control)
  if (Object.hasOwn(numbers, name)) return `\x1b[${numbers[name]}${held === 1 ? '' : `;${held}`}~`
  const end = Object.hasOwn(ends, name) ? ends[name] : undefined
  if (end) return held === 1 ? `\x1b[${end.number}~` : `\x1b[1;${held}${end.letter}`
  const letter = Object.hasOwn(letters, name) ? letters[name] : Object.hasOwn(functions, name) ? functions[name] : null
  if (letter === null) return null
  if (held > 1) return `\x1b[1;${held}${letter}`
  return `${modes.applicationCursor || name in functions ? '\x1bO' : '\x1b['}${letter}`
}

/** What the control key turns a character into; null if it has no effect. */
function controlChar(char: string): string | null {
  const code = char.toUpperCase().charCodeAt(0)
  if (code >= 0x40 && code <= 0x5f) return String.fromCharCode(code & 0x1f)
  const others: Readonly<Record<string, string>> = { '?': '\x7f', '/': '\x1f', '2': '\0', '8': '\x7f' }
  if (Object.hasOwn(others, char)) return others[char] ?? null
  return /^[3-7]$/.test(char) ? String.fromCharCode(Number(char) + 0x18) : null
}
