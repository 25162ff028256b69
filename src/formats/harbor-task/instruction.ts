const canaryLine = /^(<!--.*canary.*-->|#.*canary.*)$/i

/** An instruction without the canary lines at its start and the blank lines there; the rest byte for byte. */
export function stripCanary(text: string): string {
  const lines = text.split('\n')
  const afterCanaries = lines.findIndex((line) => !canaryLine.test(line.trim()))
  if (afterCanaries < 0) return ''
  const start = lines.findIndex((line, i) => i >= afterCanaries && line.trim() !== '')
  return start < 0 ? '' : lines.slice(start).join('\n')
}
