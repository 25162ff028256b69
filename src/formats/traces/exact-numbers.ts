import { randomBytes } from 'node:crypto'
import { pythonFloat } from '../harbor-job/python-json.ts'

/** A value that no author of a trajectory can predict. */
const mark = `\ue000${randomBytes(8).toString('hex')}:`

/**
 * JavaScript parses `1.0` and prints `1`, but a model that was shown its own calls wrote `1.0`. This turns such numbers
 * in tool arguments into marked strings, which `renderToolCall` prints as Python would. The text should be JSON; in
 * other text the changes do no harm.
 */
export function markNumbers(json: string): string {
  let marked = ''
  let done = 0
  for (let start = findArguments(json, 0); start >= 0; start = findArguments(json, done)) {
    const end = endOfObject(json, start)
    marked += json.slice(done, start) + markIn(json.slice(start, end))
    done = end
  }
  return done === 0 ? json : marked + json.slice(done)
}

/**
 * The start of the object after the next key `arguments`; -1 if there is none. A quote after a backslash is inside a
 * string, so it does not delimit a key.
 */
function findArguments(json: string, from: number): number {
  for (let at = json.indexOf('"arguments"', from); at >= 0; at = json.indexOf('"arguments"', at + 1)) {
    objectStart.lastIndex = at + '"arguments"'.length
    if (json[at - 1] !== '\\' && objectStart.test(json)) return objectStart.lastIndex - 1
  }
  return -1
}

const objectStart = /\s*:\s*\{/y

/** The end of the object that starts at `from`, after its last brace. */
function endOfObject(json: string, from: number): number {
  let depth = 0
  for (let at = from; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === quote) at = endOfString(json, at)
    else if (code === openBrace) depth++
    else if (code === closeBrace && --depth === 0) return at + 1
  }
  return json.length
}

/** The index of the quote that closes the string opened at `from`. */
function endOfString(json: string, from: number): number {
  for (let at = json.indexOf('"', from + 1); at >= 0; at = json.indexOf('"', at + 1)) {
    let backslashes = 0
    while (json.charCodeAt(at - 1 - backslashes) === backslash) backslashes++
    if (backslashes % 2 === 0) return at
  }
  return json.length
}

function markIn(text: string): string {
  let marked = ''
  let done = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) {
      at = endOfString(text, at)
    } else if (code === minus || isDigit(code)) {
      number.lastIndex = at
      const [literal] = number.exec(text) ?? ['']
      const exact = pythonNumber(literal)
      if (exact !== null) {
        marked += `${text.slice(done, at)}${JSON.stringify(mark + exact)}`
        done = at + literal.length
      }
      at += Math.max(literal.length, 1) - 1
    }
  }
  return done === 0 ? text : marked + text.slice(done)
}

const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y

/** How Python prints a number, if JavaScript prints it differently; otherwise null. */
function pythonNumber(literal: string): string | null {
  const value = Number(literal)
  const exact = /[.eE]/.test(literal) ? pythonFloat(value) : literal
  return exact === String(value) || !Number.isFinite(value) ? null : exact
}

/** The number that a marked string stands for, as text; null for any other string. */
export function markedNumber(text: string): string | null {
  return text.startsWith(mark) ? text.slice(mark.length) : null
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

const [quote, backslash, openBrace, closeBrace, minus] = [0x22, 0x5c, 0x7b, 0x7d, 0x2d]
