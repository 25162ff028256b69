/** What the program in the terminal asked for. */
export interface KeyModes {
  readonly applicationCursor: boolean
}

/**
 * The bytes of keystrokes. A text that is, as a whole, the name of a key in tmux's spelling (`C-c`, `Enter`, `M-x`, `F1`)
 * is that key; every other text is typed as it is, a line end as the Enter key.
 */
export function encodeKeystrokes(text: string, modes: KeyModes): string {
  return keyBytes(text, modes) ?? typed(text)
}

/** The bytes of a text pasted into a program that asked to be told: lines of it are not run one by one. A line end at its end is typed. */
export function encodePaste(text: string): string {
  const body = text.replace(/(?:\r?\n)+$/, '')
  const inside = typed(body).replaceAll('\x1b[200~', '').replaceAll('\x1b[201~', '')
  return `\x1b[200~${inside}\x1b[201~${typed(text.slice(body.length))}`
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
  const [, prefix = '', name = ''] = caret ? [null, 'C-', caret[1]] : (/^((?:[CMS]-)*)(.+)$/s.exec(text) ?? [])
  const held = { control: prefix.includes('C'), meta: prefix.includes('M'), shift: prefix.includes('S') }
  if (Object.hasOwn(simple, name)) return simpleKey(name, held)
  const sequence = movingKey(name, held, modes)
  if (sequence !== null) return sequence
  if (prefix === '' || held.shift || [...name].length !== 1) return null
  const char = held.control ? controlChar(name) : name
  return char && (held.meta ? `\x1b${char}` : char)
}

const simple: Readonly<Record<string, string>> = {
  Enter: '\r',
  Escape: '\x1b',
  Tab: '\t',
  BTab: '\x1b[Z',
  BSpace: '\x7f',
  Space: ' ',
}

function simpleKey(name: string, { control, meta, shift }: Modifiers): string {
  const plain = simple[shift && name === 'Tab' ? 'BTab' : name] ?? ''
  const char = control && name === 'Space' ? '\0' : control && name === 'BSpace' ? '\b' : plain
  return meta ? `\x1b${char}` : char
}

/** Keys that move, by the letter that ends their sequence, and keys with a number. */
const letters: Readonly<Record<string, string>> = { Up: 'A', Down: 'B', Right: 'C', Left: 'D', Home: 'H', End: 'F' }
const numbers: Readonly<Record<string, number>> = {
  IC: 2,
  Insert: 2,
  DC: 3,
  Delete: 3,
  PPage: 5,
  PageUp: 5,
  PgUp: 5,
  NPage: 6,
  PageDown: 6,
  PgDn: 6,
  ...Object.fromEntries([15, 17, 18, 19, 20, 21, 23, 24].map((number, i) => [`F${i + 5}`, number])),
}
const functions: Readonly<Record<string, string>> = { F1: 'P', F2: 'Q', F3: 'R', F4: 'S' }

function movingKey(name: string, { control, meta, shift }: Modifiers, modes: KeyModes): string | null {
  const held = 1 + Number(shift) + 2 * Number(meta) + 4 * Number(control)
  if (Object.hasOwn(numbers, name)) return `\x1b[${numbers[name]}${held === 1 ? '' : `;${held}`}~`
  const letter = Object.hasOwn(letters, name) ? letters[name] : Object.hasOwn(functions, name) ? functions[name] : null
  if (letter === null) return null
  if (held > 1) return `\x1b[1;${held}${letter}`
  return `${modes.applicationCursor || name in functions ? '\x1bO' : '\x1b['}${letter}`
}

/** What the control key makes of a character; null for one it does nothing to. */
function controlChar(char: string): string | null {
  const code = char.toUpperCase().charCodeAt(0)
  if (code >= 0x40 && code <= 0x5f) return String.fromCharCode(code & 0x1f)
  const others: Readonly<Record<string, string>> = { '?': '\x7f', '/': '\x1f', '2': '\0', '8': '\x7f' }
  if (Object.hasOwn(others, char)) return others[char] ?? null
  return /^[3-7]$/.test(char) ? String.fromCharCode(Number(char) + 0x18) : null
}
