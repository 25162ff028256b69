import { toLocalNaive } from '../../lib/time.ts'

/** A number that is a float in Python, so it prints with `.0`. */
export class Float {
  constructor(readonly value: number) {}
}

export function float(value: number): Float {
  return new Float(value)
}

export function floatOrNull(value: number | null): Float | null {
  return value === null ? null : new Float(value)
}

/**
 * Renders JSON like Harbor: four spaces, nulls included, text not escaped to ASCII. Maps keep their order, undefined is
 * left out.
 */
export function renderPythonJson(value: unknown): string {
  return write(value, '')
}

/** The pieces of a JSON text at some depth; `pad` is the indentation of its first line. */
export function write(value: unknown, pad: string): string {
  if (value instanceof Float) return floatText(value.value)
  if (typeof value === 'string') return quote(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const inner = `${pad}    `
  if (Array.isArray(value))
    return bracket(
      '[',
      value.map((item) => inner + write(item, inner)),
      `${pad}]`,
    )
  const entries = value instanceof Map ? [...value] : Object.entries(value)
  const lines = entries
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => `${inner}${quote(key)}: ${write(item, inner)}`)
  return bracket('{', lines, `${pad}}`)
}

function bracket(open: string, lines: readonly string[], close: string): string {
  return lines.length === 0 ? open + close.trimStart() : `${open}\n${lines.join(',\n')}\n${close}`
}

/** Replaces unpaired surrogates, which are valid in a JavaScript string but make the JSON unreadable elsewhere. */
function quote(text: string): string {
  const quoted = JSON.stringify(text)
  return quoted.includes('\\ud') ? JSON.stringify(text.replace(/\p{Surrogate}/gu, '\ufffd')) : quoted
}

function floatText(value: number): string {
  if (!Number.isFinite(value)) return 'null'
  if (Math.abs(value) >= 1e16) return value.toExponential()
  if (Object.is(value, -0)) return '-0.0'
  return Number.isInteger(value) ? `${value}.0` : String(value)
}

/** A float as Python's `repr` prints it: `1.0`, `1e-05`, `1e+16`. */
export function pythonFloat(value: number): string {
  const size = Math.abs(value)
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2')
  }
  return floatText(value)
}

/** Formats a record's time as Harbor does in a trial: UTC, without a fraction if it is zero. */
export function renderUtc(utc: string): string {
  return utc.replace(/\.0+Z$/, 'Z')
}

/** Formats a record's time as Harbor does in a job: local, without a zone. */
export function renderLocal(utc: string): string {
  return toLocalNaive(utc).replace(/\.0+$/, '')
}

/**
 * Parses any time written by Python into UTC with microseconds; a time without a zone is local. Null if it is not a
 * time.
 */
export function parseTime(text: string): string | null {
  const match = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?$/.exec(text)
  if (!match) return null
  const [, day, time, fraction = '', zone = ''] = match
  const date = new Date(`${day}T${time}${zone}`)
  if (Number.isNaN(date.getTime())) return null
  return `${date.toISOString().slice(0, 19)}.${fraction.padEnd(6, '0').slice(0, 6)}Z`
}
