const unitSec: Readonly<Record<string, number>> = { h: 3600, m: 60, s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6, ns: 1e-9 }

/** Seconds of `1m30s`, `500ms` or `0`; null for anything else. */
export function parseDurationSec(text: string): number | null {
  if (text === '0') return 0
  if (!/^(\d+(\.\d+)?(h|ms|m|s|us|µs|ns))+$/.test(text)) return null
  let total = 0
  for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)/g)) {
    total += Number(number) * (unitSec[unit ?? ''] ?? 0)
  }
  return total
}
