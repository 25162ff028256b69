/** One line of a shell script that is not only a comment. */
export interface CodeLine {
  /** Trimmed, without a comment at its end. */
  readonly code: string
  /** How many `if`, `for`, `while`, `case` and `{` are open before this line; 0 always runs. */
  readonly depth: number
}

/** The code of a shell script, line by line. It reads like a careful person, not like a parser: good enough for lints. */
export function codeLines(script: string): CodeLine[] {
  const lines: CodeLine[] = []
  let depth = 0
  for (const line of script.replaceAll('\\\n', ' ').split('\n')) {
    const code = withoutComment(line.trim())
    if (code === '') continue
    const bare = code.replace(/'[^']*'|"(?:[^"\\]|\\.)*"/g, '""')
    const closed = count(bare, /^(?:fi|done|esac|\})(?=$|[\s;)|&>])/g)
    lines.push({ code, depth: Math.max(0, depth - closed) })
    depth = Math.max(0, depth + count(bare, opens) - count(bare, closes))
  }
  return lines
}

const opens = /(?<![\w.\-/$])(?:if|for|while|until|case)(?=\s)|\{(?=\s|$)/g
const closes = /(?<![\w.\-/$])(?:fi|done|esac)(?=$|[\s;)|&>])|(?<=^|[\s;])\}(?=$|[\s;)|&>])/g

/** A `#` starts a comment at the beginning of a word, outside quotes. */
function withoutComment(line: string): string {
  const comment = /^(?:'[^']*'|"(?:[^"\\]|\\.)*"|[^\s'"#]#?|[^'"#]\S#|[^'"#])*?(?=(?:^|\s)#)/.exec(line)
  if (line.startsWith('#')) return ''
  return (comment ? comment[0] : line).trim()
}

function count(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length
}
