/** What a page says about a script. */
export interface PageScript {
  /** The page without the script. */
  readonly page: string
  readonly script: string
  readonly args: readonly string[]
  readonly expected: string
}

const firstLine = /^\s*#!\s*\/(?:usr\/)?bin\/(?:env\s+)?(?:ba)?sh\b/
const prompt = /^\s*\$ /
const runsScript = /^\s*\$ (?:(?:ba)?sh\s+|\.\/)([\w.-]+)((?:\s+[\w.,:@%+=/-]+)*)\s*$/

/** The first script on a page and its first run, or why there is none. */
export function readPage(text: string): PageScript | string {
  const lines = text.split('\n')
  const start = lines.findIndex((line) => firstLine.test(line))
  if (start < 0) return 'the page holds no script'
  const end = endOf(lines, start)
  const run = lines.findIndex((line, i) => i >= end && runsScript.test(line))
  if (run < 0) return 'the page holds no run of its script'
  const args = (runsScript.exec(lines[run] ?? '')?.[2] ?? '')
    .trim()
    .split(/\s+/)
    .filter((word) => word !== '')
  const printed = lines.slice(run + 1)
  const stop = printed.findIndex((line) => line.trim() === '' || prompt.test(line))
  const expected = dedent(stop < 0 ? printed : printed.slice(0, stop))
  if (expected === '') return 'the page does not show what its script prints'
  const page = [...lines.slice(0, start), ...lines.slice(end)].join('\n').replace(/\n{3,}/g, '\n\n')
  return { page, script: `${dedent(lines.slice(start, end))}\n`, args, expected }
}

/** A listing ends at a prompt, or where the indentation drops after an empty line. */
function endOf(lines: readonly string[], start: number): number {
  const margin = indentOf(lines[start] ?? '')
  for (let at = start + 1; at < lines.length; at++) {
    const line = lines[at] ?? ''
    if (prompt.test(line)) return at
    if (line.trim() !== '' && indentOf(line) < margin) return at
  }
  return lines.length
}

function dedent(lines: readonly string[]): string {
  const full = lines.filter((line) => line.trim() !== '')
  const margin = Math.min(...full.map(indentOf))
  return lines
    .map((line) => line.slice(margin))
    .join('\n')
    .trim()
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}
