import {
  type DocumentOptions,
  LineCounter,
  type ParseOptions,
  parseDocument,
  type SchemaOptions,
  type ToJSOptions,
} from 'yaml'
import { fileLimits, isTooDeep } from './parse-json.ts'

const maxChars = 16 << 20

/**
 * Parses a text as YAML; throws YAMLParseError if it is not YAML, ReferenceError if its aliases are wrong or expand to
 * too much, SyntaxError if it is too long, nested too deeply or cyclic.
 */
export function readYaml(
  text: string,
  options: ParseOptions & DocumentOptions & SchemaOptions & ToJSOptions = {},
): unknown {
  if (text.length > maxChars) throw new SyntaxError(`more than ${maxChars} characters`)
  const document = parsed(text, options)
  if (isTooDeep(document))
    throw new SyntaxError(`an alias inside the value it refers to, or values ${tooDeep().message}`)
  return document
}

function parsed(text: string, options: NonNullable<Parameters<typeof readYaml>[1]>): unknown {
  const lineCounter = new LineCounter()
  try {
    // Its warnings would print parts of a text that may be hostile, and it would look up the lines of every error, in
    // time quadratic in the text.
    const document = parseDocument(text, { logLevel: 'error', ...options, lineCounter, prettyErrors: false })
    const [wrong] = document.errors
    if (wrong !== undefined) {
      const at = lineCounter.linePos(wrong.pos[0])
      wrong.linePos = [at]
      wrong.message += ` at line ${at.line}, column ${at.col}`
      throw wrong
    }
    return document.toJS(options)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    if (error.message.startsWith('Maximum call stack')) throw tooDeep()
    // The library reports a merge with a non-map as a plain error.
    throw error.name === 'Error' ? new SyntaxError(error.message) : error
  }
}

function tooDeep(): SyntaxError {
  return new SyntaxError(`nested more than ${fileLimits.depth} levels deep`)
}
