/** Scripts are read up to this length: a model may write without end. */
const limitChars = 100_000
const nameChars = 40

/** Shell words that start no command of their own, but are followed by one. */
const beforeCommand = new Set(['if', 'then', 'else', 'elif', 'do', 'while', 'until', '!', '{', '(', '&&', '||'])
/** Words that are followed by no command. */
const withoutCommand = new Set(['for', 'case', 'select', 'function', 'fi', 'done', 'esac', '}', ')', '[[', '((', 'in'])
/** Programs that run another program, named after their own options. */
const runners = new Set(['sudo', 'env', 'nohup', 'time', 'timeout', 'xargs', 'nice', 'exec', 'command', 'stdbuf'])

/**
 * The names of the programs that a shell script calls, in order and without folders, as far as the text alone tells.
 * Bodies of here-documents and double-quoted text count as data.
 */
export function commandNames(script: string): string[] {
  return simpleCommands(script.slice(0, limitChars)).flatMap(namesOf)
}

/** The words of each simple command. */
function simpleCommands(script: string): string[][] {
  const commands: string[][] = []
  let words: string[] = []
  let word = ''
  let quote = ''
  const hereDocs: string[] = []
  const endWord = () => {
    if (word !== '') words.push(word)
    word = ''
  }
  const endCommand = () => {
    endWord()
    if (words.length > 0) commands.push(words)
    words = []
  }
  for (let i = 0; i < script.length; i++) {
    const char = script.charAt(i)
    const next = script.charAt(i + 1)
    if (quote !== '') {
      if (char === quote) quote = ''
      else if (char === '\\' && quote === '"') word += script.charAt(++i)
      else word += char
    } else if (char === '\\') {
      // A continued line.
      if (next !== '\n') word += next
      i++
    } else if (char === '"' || char === "'") quote = char
    else if (char === '#' && word === '') i = endOfLine(script, i) - 1
    else if (script.startsWith('<<<', i)) i += 2
    else if (script.startsWith('<<', i)) {
      const [whole = '', , ending = ''] = /^<<-?[ \t]*(['"]?)([\w.+-]+)\1/.exec(script.slice(i, i + 200)) ?? []
      if (ending !== '') hereDocs.push(ending)
      i += Math.max(2, whole.length) - 1
    } else if (char === '\n') {
      endCommand()
      for (let doc = hereDocs.shift(); doc !== undefined; doc = hereDocs.shift()) i = endOfHereDoc(script, i, doc)
    } else if (char === '>' || char === '<' || (char === '&' && (next === '>' || script.charAt(i - 1) === '>'))) {
      // What follows is a file, not an argument that matters here.
      word = ''
    } else if (';&|()`'.includes(char)) {
      if (word === '$') word = ''
      endCommand()
    } else if (/\s/.test(char)) endWord()
    else word += char
  }
  endCommand()
  return commands
}

function endOfLine(script: string, from: number): number {
  const at = script.indexOf('\n', from)
  return at < 0 ? script.length : at
}

/** The end of the line that closes a here-document which starts after the line break at `from`. */
function endOfHereDoc(script: string, from: number, ending: string): number {
  for (let start = from + 1; start < script.length; ) {
    const end = endOfLine(script, start)
    if (script.slice(start, end).trim() === ending) return end
    start = end + 1
  }
  return script.length
}

function namesOf(words: readonly string[]): string[] {
  const names: string[] = []
  let isRun = false
  for (const word of words) {
    if (/^[A-Za-z_]\w*\+?=/.test(word) || (!isRun && beforeCommand.has(word))) continue
    if (isRun && (word.startsWith('-') || /^[\d.]+[smhd]?$/.test(word))) continue
    if (withoutCommand.has(word)) break
    const name = word.slice(word.lastIndexOf('/') + 1)
    if (!/^[\w.[+-]+$/.test(name) || !/[A-Za-z[]/.test(name) || name.startsWith('-')) break
    names.push(name.slice(0, nameChars))
    if (!runners.has(name)) break
    isRun = true
  }
  return names
}
