/** Control characters and characters that change text direction, except line breaks and tabs. */
const unseen = /(?![\n\t])[\p{Cc}\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\p{Co}\p{Zl}\p{Zp}]/gu
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the sequences that terminals obey.
const sequences = /\x1b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|[()][\w]|[@-Z\\-_=>])/g

/**
 * Hostile text made safe for a page: without terminal colors and cursor movements, and with invisible characters made
 * visible.
 */
export function clean(text: string): string {
  return text
    .replace(sequences, '')
    .replaceAll('\r\n', '\n')
    .replace(unseen, (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`)
}

/** The same, on one line. */
export function line(text: string): string {
  return clean(text.replace(/\s+/g, ' ').trim())
}

export function count(value: number | null): string {
  if (value === null) return '–'
  if (value < 1000) return String(value)
  if (value < 1e6) return `${(value / 1e3).toFixed(value < 1e4 ? 1 : 0)}k`
  return `${(value / 1e6).toFixed(value < 1e7 ? 2 : 1)}M`
}

export function whole(value: number): string {
  return value.toLocaleString('en-US')
}

export function duration(sec: number | null): string {
  if (sec === null || !Number.isFinite(sec)) return '–'
  if (sec < 10) return `${sec.toFixed(1)} s`
  if (sec < 100) return `${Math.round(sec)} s`
  const whole = Math.round(sec)
  if (whole < 6000) return twoUnits(Math.floor(whole / 60), 'min', whole % 60, 's')
  const minutes = Math.round(sec / 60)
  return twoUnits(Math.floor(minutes / 60), 'h', minutes % 60, 'min')
}

function twoUnits(large: number, unit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smallUnit}`
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`
  if (value < 1 << 20) return `${(value / 1024).toFixed(1)} KiB`
  return `${(value / (1 << 20)).toFixed(1)} MiB`
}

export function reward(value: number | null): string {
  return value === null ? '–' : String(Number(value.toFixed(3)))
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`
}

export function money(usd: number | null): string {
  if (usd === null) return '–'
  return usd !== 0 && usd < 0.01 ? `$${usd.toPrecision(1)}` : `$${usd.toFixed(2)}`
}

export function time(iso: string | null): string {
  if (iso === null) return '–'
  const date = new Date(/[zZ]|[+-]\d\d:?\d\d$/.test(iso) ? iso : `${iso}Z`)
  if (Number.isNaN(date.getTime())) return '–'
  const two = (value: number) => String(value).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${whole(n)} ${n === 1 ? one : many}`
}
