/** One line of a shell script that is not only a comment. */
export interface CodeLine {
  /** Trimmed, without a trailing comment. */
  readonly code: string
  /** How many `if`, `for`, `while`, `case` and `{` are open before this line; at 0 it always runs. */
  readonly depth: number
}

/** The code of a shell script, line by line. It is a heuristic, not a parser: good enough for lints. */
export function codeLines(script: string): CodeLine[] {
  const lines: CodeLine[] = []
  let depth = 0
  for (const line of script.replaceAll('\r\n', '\n').replaceAll('\\\n', ' ').split('\n')) {
    const { code, bare } = scan(line.trim())
    if (code === '') continue
    lines.push({ code, depth: closesFirst.test(bare) ? Math.max(0, depth - 1) : depth })
    depth = Math.max(0, depth + count(bare, opens) - count(bare, closes))
  }
  return lines
}

const closesFirst = /^(?:fi|done|esac|\})(?![\w-])/
const opens = /(?<![\w.\-/$])(?:if|for|while|until|case)(?=\s)|(?<=^|[\s)])\{(?=\s|$)/g
const closes = /(?<![\w.\-/$])(?:fi|done|esac)(?![\w.\-/=])|(?<=^|[\s;])\}(?![\w-])/g

/** Removes a comment; `bare` is the same code with all quoted text blanked. */
function scan(line: string): { code: string; bare: string } {
  let quote = ''
  let bare = ''
  for (let i = 0; i < line.length; i++) {
    const char = line.charAt(i)
    if (quote !== '') {
      if (char === '\\' && quote === '"') i++
      else if (char === quote) quote = ''
      continue
    }
    if (char === '#' && (i === 0 || /\s/.test(line.charAt(i - 1)))) return { code: line.slice(0, i).trim(), bare }
    if (char === '\\') i++
    else if (char === "'" || char === '"') quote = char
    bare += quote === '' ? char : '_'
  }
  return { code: line, bare }
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0
}
