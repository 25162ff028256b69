/** Stands for a text that only a shell could produce. */
export const notPlain: unique symbol = Symbol('not a plain text')

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', '\\': '\\', '"': '"' }

/** What `printf 'text'` or `echo 'text'` at the start of a command prints, if that is plain text in single quotes. */
export function readPrintf(command: string): string | typeof notPlain {
  const [, program = '', quoted] = /^(printf|echo(?: -e)?) '([^']*)' \|/.exec(command) ?? []
  if (quoted === undefined) return notPlain
  if (program === 'echo') return `${quoted}\n`
  if (program === 'printf' && /%/.test(quoted)) return notPlain
  if (/\\(?![nt\\"])/.test(quoted)) return notPlain
  const text = quoted.replace(/\\([nt\\"])/g, (_, mark: string) => escapes[mark] ?? mark)
  return program === 'printf' ? text : `${text}\n`
}
