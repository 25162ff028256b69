/** One value of a metrics page. */
export interface MetricSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Parses a page in Prometheus' text format; comments, timestamps and unreadable lines are skipped. */
export function parseMetrics(text: string): MetricSample[] {
  const samples: MetricSample[] = []
  for (const line of text.split('\n')) {
    const match = /^([a-zA-Z_:][\w:]*)\s*(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?\s*$/.exec(line)
    if (!match) continue
    const [, name = '', labels = '', number = ''] = match
    const value = parseNumber(number)
    if (value !== null) samples.push({ name, labels: parseLabels(labels), value })
  }
  return samples
}

function parseNumber(text: string): number | null {
  const infinite = /^([+-]?)Inf(?:inity)?$/i.exec(text)
  if (infinite) return infinite[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  const value = Number(text)
  return Number.isNaN(value) ? null : value
}

function parseLabels(text: string): Record<string, string> {
  const pairs = [...text.matchAll(/([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"/g)]
  return Object.fromEntries(pairs.map(([, key = '', value = '']) => [key, unescapeLabel(value)]))
}

function unescapeLabel(value: string): string {
  return value.replaceAll(/\\(.)/g, (_, letter: string) => (letter === 'n' ? '\n' : letter))
}
