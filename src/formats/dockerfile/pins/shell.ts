/** One word of a shell command. */
export interface ShellWord {
  /** With quotes and escapes resolved; variables and substitutions stay as written. */
  readonly value: string
  /** For each character of `value`, its offset in the text. */
  readonly at: readonly number[]
  /** Whether the shell may expand it: a variable, a substitution, a pattern. */
  readonly dynamic: boolean
}

/**
 * The simple commands of a shell text, as words; redirections, comments and heredoc texts are left out. It tokenizes
 * without grammar: keywords such as `if` and `do` appear as words before their command.
 */
export function readCommands(text: string): ShellWord[][] {
  return new Reader(text).read()
}

const blank = /[ \t\r]/
/** Ends an unquoted word. */
const meta = /[ \t\r\n;&|()<>]/

class Reader {
  private at = 0
  private readonly commands: ShellWord[][] = [[]]
  /** Heredocs whose text starts on the next line. */
  private readonly pending: { readonly end: string; readonly tabs: boolean }[] = []

  constructor(private readonly text: string) {}

  read(): ShellWord[][] {
    while (this.at < this.text.length) this.step()
    return this.commands.filter((words) => words.length > 0)
  }

  private step(): void {
    const char = this.text.charAt(this.at)
    if (blank.test(char) || this.isContinued()) this.at += char === '\\' ? 2 : 1
    else if (char === '#') this.at = this.endOfLine()
    else if (char === '\n') this.newLine()
    else if (/[<>]/.test(char) || this.text.startsWith('&>', this.at)) this.redirection()
    else if (/[;&|()]/.test(char)) this.separate()
    else this.word()
  }

  private isContinued(): boolean {
    return this.text.startsWith('\\\n', this.at)
  }

  private endOfLine(): number {
    const end = this.text.indexOf('\n', this.at)
    return end < 0 ? this.text.length : end
  }

  private separate(): void {
    this.at++
    this.commands.push([])
  }

  private newLine(): void {
    this.separate()
    for (const { end, tabs } of this.pending.splice(0)) {
      while (this.at < this.text.length) {
        const line = this.text.slice(this.at, this.endOfLine())
        this.at = Math.min(this.text.length, this.endOfLine() + 1)
        if ((tabs ? line.replace(/^\t+/, '') : line) === end) break
      }
    }
  }

  private redirection(): void {
    const operator = /^(?:&>>?|<<<|<<-?|<>|[<>]&|>>|>\||[<>])/.exec(this.text.slice(this.at, this.at + 3))?.[0] ?? '>'
    this.at += operator.length
    while (blank.test(this.text.charAt(this.at))) this.at++
    if (meta.test(this.text.charAt(this.at)) || this.at >= this.text.length) return
    const { value } = this.take()
    if (operator === '<<' || operator === '<<-') this.pending.push({ end: value, tabs: operator === '<<-' })
  }

  private word(): void {
    const word = this.take()
    // In `2>file` the 2 belongs to the redirection.
    if (/^\d+$/.test(word.value) && /[<>]/.test(this.text.charAt(this.at))) return
    this.commands.at(-1)?.push(word)
  }

  private take(): ShellWord {
    const word = new WordInMaking()
    while (this.at < this.text.length && !meta.test(this.text.charAt(this.at))) this.takePiece(word)
    return word.done()
  }

  private takePiece(word: WordInMaking): void {
    const char = this.text.charAt(this.at)
    if (this.isContinued()) this.at += 2
    else if (char === "'") this.singleQuoted(word)
    else if (char === '"') this.doubleQuoted(word)
    else if (char === '$' || char === '`') this.substitution(word)
    else if (char === '\\') {
      word.add(this.text.charAt(this.at + 1), this.at + 1)
      this.at += 2
    } else {
      if (/[*?{}]/.test(char) || (char === '~' && word.isEmpty)) word.dynamic = true
      word.add(char, this.at++)
    }
  }

  private singleQuoted(word: WordInMaking): void {
    for (this.at++; this.at < this.text.length && this.text.charAt(this.at) !== "'"; this.at++)
      word.add(this.text.charAt(this.at), this.at)
    this.at++
  }

  private doubleQuoted(word: WordInMaking): void {
    for (this.at++; this.at < this.text.length && this.text.charAt(this.at) !== '"'; ) {
      const char = this.text.charAt(this.at)
      if (this.isContinued()) this.at += 2
      else if (char === '$' || char === '`') this.substitution(word)
      else {
        if (char === '\\' && /["\\$`]/.test(this.text.charAt(this.at + 1))) this.at++
        word.add(this.text.charAt(this.at), this.at++)
      }
    }
    this.at++
  }

  /** `$x`, `${x}`, `$(...)` or backquotes, kept as written. */
  private substitution(word: WordInMaking): void {
    word.dynamic = true
    const start = this.at
    const opened = this.text.charAt(start + 1)
    if (this.text.charAt(start) === '`') this.at = this.after('`', start + 1)
    else if (opened === '(') this.at = this.afterNested('(', ')', start + 1)
    else if (opened === '{') this.at = this.afterNested('{', '}', start + 1)
    else this.at = start + 1
    for (let at = start; at < this.at; at++) word.add(this.text.charAt(at), at)
  }

  private after(mark: string, from: number): number {
    const end = this.text.indexOf(mark, from)
    return end < 0 ? this.text.length : end + 1
  }

  private afterNested(open: string, close: string, from: number): number {
    let depth = 0
    for (let at = from; at < this.text.length; at++) {
      const char = this.text.charAt(at)
      if (char === '\\') at++
      else if (char === "'" && close === ')') at = this.after("'", at + 1) - 1
      else if (char === open) depth++
      else if (char === close && --depth === 0) return at + 1
    }
    return this.text.length
  }
}

class WordInMaking {
  dynamic = false
  private value = ''
  private readonly at: number[] = []

  get isEmpty(): boolean {
    return this.value === ''
  }

  add(char: string, at: number): void {
    this.value += char
    if (char !== '') this.at.push(at)
  }

  done(): ShellWord {
    return { value: this.value, at: this.at, dynamic: this.dynamic }
  }
}
