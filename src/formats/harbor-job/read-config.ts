import type { core, ZodType } from 'zod'
import { messageOf, UserError } from '../../core/errors.ts'
import { readJson } from '../../lib/parse-json.ts'
import { readYaml } from '../../lib/read-yaml.ts'

/** Something in a config that was read, but not as it stands there. */
export interface ConfigWarning {
  /** Where it stands, for example `environment.extra_allowed_hosts`. */
  readonly path: string
  /** `legacy`: an old spelling, honoured. `unknown`: a key we do not know, ignored. */
  readonly kind: 'legacy' | 'unknown'
  /** True for an ignored key that sounds as if it kept something apart; the caller should refuse it. */
  readonly isolation: boolean
  readonly message: string
}

/** The document in a config file; `format` is told by the file's name unless given. */
export function readDocument(text: string, path: string, format = formatOf(path)): unknown {
  try {
    if (format === 'json') return readJson(text)
    // Harbor reads YAML 1.1, where `no` is false.
    return readYaml(text, { version: '1.1', prettyErrors: true })
  } catch (error) {
    const [problem = ''] = messageOf(error).split('\n')
    throw new UserError(
      `${path}: expected ${format === 'json' ? 'JSON' : 'YAML'}, got: ${problem}`,
      'fix the syntax of the file',
    )
  }
}

function formatOf(path: string): 'yaml' | 'json' {
  if (/\.ya?ml$/i.test(path)) return 'yaml'
  if (/\.json$/i.test(path)) return 'json'
  throw new UserError(`${path}: expected a .yaml, .yml or .json file`, 'give the config file one of these endings')
}

/** Parses `input` by a strict schema; keys the schema does not know become warnings, anything else wrong is a UserError. */
export function parseConfig<T>(
  schema: ZodType<T>,
  input: unknown,
  path: string,
  hint: string,
): { value: T; warnings: ConfigWarning[] } {
  const copy: unknown = structuredClone(input)
  const warnings: ConfigWarning[] = []
  for (;;) {
    const result = schema.safeParse(copy)
    if (result.success) return { value: result.data, warnings }
    const issues = result.error.issues.flatMap(branches)
    const strange = issues.filter((issue) => issue.code === 'unrecognized_keys')
    const [wrong] = issues
    if (strange.length === 0 && wrong) throw new UserError(`${path}: ${describe(wrong, copy)}`, hint)
    for (const issue of strange) {
      const parent = valueAt(copy, issue.path)
      for (const key of issue.keys) {
        warnings.push(unknownKey(spell([...issue.path, key])))
        if (typeof parent === 'object' && parent !== null) Reflect.deleteProperty(parent, key)
      }
    }
  }
}

/** Says that a key is ignored. */
export function unknownKey(path: string): ConfigWarning {
  const isolation = /network|allow|hosts|environment_mode|mount|user|isolat|compose/.test(path)
  return { path, kind: 'unknown', isolation, message: `${path} is not a known key and is ignored` }
}

/** Of a value that fits none of several schemas, the complaints of the one it came closest to. */
function branches(issue: core.$ZodIssue): readonly core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const close = issue.errors.find((errors) =>
    errors.every((error) => error.path.length > 0 || error.code !== 'invalid_type'),
  )
  return close ? close.map((error) => ({ ...error, path: [...issue.path, ...error.path] })) : [issue]
}

function describe(issue: core.$ZodIssue, input: unknown): string {
  const where = issue.path.length === 0 ? 'the document' : spell(issue.path)
  if (issue.code === 'custom') return `${where}: ${issue.message}`
  return `${where}: expected ${expectedBy(issue)}, got ${show(valueAt(input, issue.path))}`
}

function expectedBy(issue: core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return words[issue.expected] ?? issue.expected
  if (issue.code === 'invalid_value') return `one of ${issue.values.map(String).join(', ')}`
  if (issue.code === 'too_small') return `at least ${issue.minimum}`
  if (issue.code === 'invalid_union') return 'a text or a mapping'
  return issue.message
}

const words: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'a mapping',
  record: 'a mapping',
  array: 'a list',
}

function show(value: unknown): string {
  if (value === undefined) return 'nothing'
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}

function spell(path: readonly PropertyKey[]): string {
  return path.map((key, i) => (typeof key === 'number' ? `[${key}]` : `${i === 0 ? '' : '.'}${String(key)}`)).join('')
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input
  for (const key of path) value = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
  return value
}
