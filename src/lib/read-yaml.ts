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
 * What a text says as YAML; throws YAMLParseError when it is none, ReferenceError when its aliases are wrong or stand for too
 * much, SyntaxError when it is too long, nested too deeply, or holds itself.
 */
export function readYaml(
  text: string,
  options: ParseOptions & DocumentOptions & SchemaOptions & ToJSOptions = {},
): unknown {
  if (text.length > maxChars) throw new SyntaxError(`more than ${maxChars} characters`)
  const document = parsed(text, options)
  if (isTooDeep(document))
    throw new SyntaxError(`an alias inside of what it stands for, or values ${tooDeep().message}`)
  return document
}

function parsed(text: string, options: NonNullable<Parameters<typeof readYaml>[1]>): unknown {
  const lineCounter = new LineCounter()
  try {
    // Its warnings would print parts of a text that may be hostile, and it would look up the lines of every error, which takes
    // the square of the text.
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
    // Of a merge with what is no map, the library says so with a plain error.
    throw error.name === 'Error' ? new SyntaxError(error.message) : error
  }
}

function tooDeep(): SyntaxError {
  return new SyntaxError(`nested more than ${fileLimits.depth} levels deep`)
}
