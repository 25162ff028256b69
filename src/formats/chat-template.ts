import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../core/errors.ts'
import { readTextIfExists } from '../lib/files.ts'
import { readJson } from '../lib/parse-json.ts'

/** A model's tokenizer files. */
export interface TokenizerFiles {
  readonly tokenizer: string
  readonly config: string
  /** A separate template file takes precedence over the one in the config. */
  readonly template: string | null
}

/** A model's tokenizer, and the template with which a server would render its conversations. */
export interface ModelTokenizer {
  count(text: string): number
  /** Null if the model has no template. */
  readonly render: ((messages: readonly unknown[], tools: unknown) => string) | null
  readonly eosToken: string
  /** Empty if it has none. */
  readonly bosToken: string
}

/** The names of those files; the optional ones come last. */
export const tokenizerFileNames = ['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'] as const

/** Reads them from a model's folder; null without a tokenizer.json. */
export async function readTokenizerFiles(dir: string): Promise<TokenizerFiles | null> {
  const [name, config, template] = tokenizerFileNames
  const tokenizer = await readFile(join(dir, name), 'utf8').catch(() => null)
  if (tokenizer === null) return null
  return {
    tokenizer,
    config: (await readTextIfExists(join(dir, config))) ?? '{}',
    template: await readTextIfExists(join(dir, template)),
  }
}

/** Makes a tokenizer from the files; throws an Error if they cannot be understood. */
export async function loadModelTokenizer(files: TokenizerFiles): Promise<ModelTokenizer> {
  const [{ Tokenizer }, { Template }] = await Promise.all([
    import('@huggingface/tokenizers'),
    import('@huggingface/jinja'),
  ])
  const config: Record<string, unknown> = { ...Object(readJson(files.config)) }
  const tokenizer = new Tokenizer(readJson(files.tokenizer), config)
  const text = files.template ?? defaultTemplate(config.chat_template)
  const parsed = text === null ? null : new Template(text)
  const known = { bos_token: tokenOf(config.bos_token), eos_token: tokenOf(config.eos_token) }
  return {
    count: (words) => (words === '' ? 0 : tokenizer.encode(words, { add_special_tokens: false }).ids.length),
    render:
      parsed === null
        ? null
        : (messages, tools) => parsed.render({ ...known, messages, tools, add_generation_prompt: false }),
    eosToken: known.eos_token,
    bosToken: known.bos_token,
  }
}

/** The default among a model's templates: some models have several, by name. */
function defaultTemplate(value: unknown): string | null {
  if (typeof value === 'string') return value
  const named = Array.isArray(value) ? value.map((each) => Object(each)) : []
  const chosen = named.find(({ name }) => name === 'default') ?? named[0]
  return typeof chosen?.template === 'string' ? chosen.template : null
}

/** A special token is a string, or an object that holds one. */
function tokenOf(value: unknown): string {
  return typeof value === 'string' ? value : String(Object(value).content ?? '')
}

/** Tries a template on one conversation: the text, or the role it does not support and why. */
export function tryTemplate(
  render: NonNullable<ModelTokenizer['render']>,
  messages: readonly { readonly role: string; readonly content: string }[],
  tools: unknown,
): { readonly text: string } | { readonly role: string | null; readonly why: string } {
  try {
    const text = render(messages, tools)
    // Most templates trim text, and remove thoughts from assistant messages.
    const lost = messages.find(
      ({ role, content }) => role !== 'assistant' && content.trim() !== '' && !text.includes(content.trim()),
    )
    return lost === undefined ? { text } : { role: lost.role, why: 'it drops their messages' }
  } catch (error) {
    const why = messageOf(error).split('\n')[0]?.slice(0, 200) ?? ''
    const role = messages.map(({ role: each }) => each).find((each) => new RegExp(`\\b${each}\\b`, 'i').test(why))
    return { role: role ?? null, why }
  }
}
