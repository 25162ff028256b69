import { UserError } from '../../core/errors.ts'
import { nearest } from '../../lib/nearest.ts'
import { splitShellWords } from '../../lib/shell-words.ts'

/** What a setting takes. `words` is a command line; `list` may be given several times. */
export type SettingKind = 'text' | 'whole' | 'number' | 'switch' | 'time' | 'words' | 'list'

/** One setting of a launch, given as a flag, in a file, or by a cluster. */
export interface SettingSpec {
  /** `trace_model`; the flag is `--trace-model`. */
  readonly name: string
  readonly kind: SettingKind
  readonly help: string
  readonly group: string
  readonly preset?: unknown
  /** `-S`. */
  readonly short?: string | undefined
  readonly choices?: readonly string[] | undefined
  /** Accepted, but not listed. */
  readonly hidden?: boolean
}

/** Where values come from; later layers override earlier ones. */
export interface SettingLayer {
  /** As displayed: `default`, `cluster vista`, `file launch.yaml`, `flag`. */
  readonly origin: string
  readonly values: Readonly<Record<string, unknown>>
}

export interface Setting {
  readonly name: string
  readonly value: unknown
  readonly origin: string
}

/** Values of all layers, each with the layer it came from. */
export class Settings {
  private readonly found = new Map<string, Setting>()
  private readonly read = new Set<string>()
  private readonly known: ReadonlySet<string>

  constructor(specs: readonly SettingSpec[], layers: readonly SettingLayer[]) {
    this.known = new Set(specs.map(({ name }) => name))
    const presets = Object.fromEntries(
      specs.filter(({ preset }) => preset !== undefined).map((spec) => [spec.name, spec.preset]),
    )
    for (const { origin, values } of [{ origin: 'default', values: presets }, ...layers])
      for (const [key, value] of Object.entries(values)) this.lay(specs, key, value, origin)
  }

  private lay(specs: readonly SettingSpec[], key: string, given: unknown, origin: string): void {
    if (given === undefined || given === null) return
    const name = key.replaceAll('-', '_')
    const spec = specs.find((each) => each.name === name)
    if (!spec) throw unknownSetting(key, origin, [...this.known])
    const value = parseSetting(spec, given, origin)
    if (value !== undefined) this.found.set(name, { name, value, origin })
  }

  /** All settings that have a value, sorted by name. */
  list(): readonly Setting[] {
    return [...this.found.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Settings that were never read and so cannot have had any effect. */
  unread(): readonly Setting[] {
    return this.list().filter(({ name }) => !this.read.has(name))
  }

  get(name: string): Setting | undefined {
    if (!this.known.has(name)) throw new Error(`unknown setting ${name}`)
    this.read.add(name)
    return this.found.get(name)
  }

  has(name: string): boolean {
    return this.get(name) !== undefined
  }

  text(name: string): string | undefined {
    const value = this.get(name)?.value
    return value === undefined ? undefined : String(value)
  }

  number(name: string): number | undefined {
    const value = this.get(name)?.value
    return typeof value === 'number' ? value : undefined
  }

  is(name: string): boolean {
    return this.get(name)?.value === true
  }

  words(name: string): readonly string[] {
    const value = this.get(name)?.value
    return Array.isArray(value) ? value.map(String) : []
  }

  /** The text of a mandatory setting. */
  required(name: string, why: string): string {
    const value = this.text(name)
    if (value !== undefined) return value
    throw new UserError(`expected ${flagOf(name)}, got none`, why)
  }
}

/** `trace_model` is `--trace-model`. */
export function flagOf(name: string): string {
  return `--${name.replaceAll('_', '-')}`
}

function unknownSetting(key: string, origin: string, known: readonly string[]): UserError {
  const near = nearest(key, known)
  return new UserError(
    `${origin}: unknown setting ${JSON.stringify(key)}`,
    near === null ? 'ot-agent launch --help lists them' : `did you mean ${near}?`,
  )
}

function parseSetting(spec: SettingSpec, given: unknown, origin: string): unknown {
  const text = typeof given === 'string' ? given.trim() : given
  // The old launcher's word for nothing.
  if (typeof text === 'string' && /^none$/i.test(text) && !/(engine|backend|deepspeed|report_to)$/.test(spec.name))
    return undefined
  const value = parsers[spec.kind](text)
  const expected = spec.choices ? `one of ${spec.choices.join(', ')}` : expectations[spec.kind]
  if (value === undefined || (spec.choices && !spec.choices.includes(String(value)))) {
    const shown = JSON.stringify(given)?.slice(0, 80)
    throw new UserError(`${flagOf(spec.name)} (${origin}): expected ${expected}, got ${shown}`, spec.help)
  }
  return value
}

const expectations: Readonly<Record<SettingKind, string>> = {
  text: 'text',
  whole: 'a whole number below a billion',
  number: 'a number',
  switch: 'true or false',
  time: 'a time such as 12:00:00 or 2-00:00:00',
  words: 'a command line with closed quotes',
  list: 'one value or several',
}

const parsers: Readonly<Record<SettingKind, (value: unknown) => unknown>> = {
  text: (value) =>
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
      ? String(value)
      : typeof value === 'object'
        ? JSON.stringify(value)
        : undefined,
  whole: (value) => (/^\d{1,9}$/.test(String(value)) ? Number(value) : undefined),
  number: (value) => {
    const isNumeric = typeof value === 'number' || (typeof value === 'string' && value !== '')
    return isNumeric && Number.isFinite(Number(value)) ? Number(value) : undefined
  },
  switch: (value) =>
    value === true || /^(true|yes|on|1)$/i.test(String(value))
      ? true
      : value === false || /^(false|no|off|0)$/i.test(String(value))
        ? false
        : undefined,
  time: (value) => (/^((\d+-)?\d{1,3}:\d{2}(:\d{2})?|\d+)$/.test(String(value)) ? String(value) : undefined),
  words: (value) =>
    Array.isArray(value)
      ? value.map(String)
      : typeof value === 'string'
        ? (splitShellWords(value) ?? undefined)
        : undefined,
  list: (value) => (Array.isArray(value) ? value.map(String) : [String(value)]),
}
