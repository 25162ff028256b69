import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { messageOf, UserError } from '../../../core/errors.ts'
import { readTextIfExists } from '../../../lib/files.ts'
import { readJson } from '../../../lib/parse-json.ts'

/** Counts a text's tokens with a local tokenizer.json; a tokenizer_config.json next to it is used too. */
export async function loadTokenizer(path: string): Promise<(text: string) => number> {
  const { Tokenizer } = await import('@huggingface/tokenizers')
  const { definition, config } = await readFiles(path)
  try {
    const tokenizer = new Tokenizer(parseObject(definition), parseObject(config))
    tokenizer.encode('hello')
    return (text) => tokenizer.encode(text, { add_special_tokens: false }).ids.length
  } catch (error) {
    throw notOne(path, error)
  }
}

/** A digest of everything a tokenizer's counts depend on. */
export async function digestTokenizer(path: string): Promise<string> {
  const { definition, config } = await readFiles(path)
  return createHash('sha256').update(definition).update('\0').update(config).digest('hex')
}

async function readFiles(path: string): Promise<{ readonly definition: string; readonly config: string }> {
  try {
    const config = (await readTextIfExists(join(dirname(path), 'tokenizer_config.json'))) ?? '{}'
    return { definition: await readFile(path, 'utf8'), config }
  } catch (error) {
    throw notOne(path, error)
  }
}

function notOne(path: string, error: unknown): UserError {
  return new UserError(
    `${path}: expected the tokenizer.json of a model, got ${messageOf(error)}`,
    'the files of a model on the Hub include one',
  )
}

function parseObject(text: string): Record<string, unknown> {
  const value: unknown = readJson(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new Error('JSON that is not an object')
}
