/** The text with comments and literals blanked out, at the same length, so that names and braces in it are code. */
function codeOf(text: string): string {
  return text.replace(/"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, (found) =>
    found.replace(/[^\n]/g, ' '),
  )
}

/**
 * A method without parameters: where it starts, annotations and comment included, where its body starts, and where both
 * end.
 */
interface Method {
  readonly from: number
  readonly body: number
  readonly to: number
}

/**
 * `name` names the class and the method, `a.ATest$Inner::testB`: other classes in the file may have a method of the
 * same name.
 */
function findMethod(text: string, name: string): Method | null {
  const [className = '', method = ''] = name.split('::')
  const code = codeOf(text)
  const head = new RegExp(
    `^[ \\t]*(?:@\\w+(?:\\([^)]*\\))?\\s+)*(?:(?:public|protected|final)\\s+)*void\\s+${method.replace(/\W/g, '\\$&')}\\s*\\(\\s*\\)[^{};]*\\{`,
    'gm',
  )
  const simple = className.replace(/^.*\./, '')
  const found = [...code.matchAll(head)].find(({ index }) => classAt(code, index) === simple)
  if (!found) return null
  const body = found.index + found[0].length
  const end = endOfBlock(code, body)
  if (end === null) return null
  let from = found.index
  while (from > 0) {
    const above = text.lastIndexOf('\n', from - 2) + 1
    const isPart = text.slice(above, from).trim() !== '' && /^\s*(?:@.*)?$/.test(code.slice(above, from))
    if (!isPart) break
    from = above
  }
  const after = /^[ \t]*\n/.exec(text.slice(end))?.[0].length ?? 0
  return { from, body, to: end + after }
}

/** The class whose member starts here, as `Outer$Inner`; null inside a method, and therefore in an anonymous class. */
function classAt(code: string, at: number): string | null {
  const open: (string | undefined)[] = []
  let start = 0
  for (const { 0: mark, index } of code.slice(0, at).matchAll(/[;{}]/g)) {
    if (mark === '{') {
      const names = [...code.slice(start, index).matchAll(/\b(?:class|interface|enum)\s+([\w$]+)/g)]
      open.push(names.at(-1)?.[1])
    }
    if (mark === '}') open.pop()
    start = index + 1
  }
  return open.length === 0 || open.includes(undefined) ? null : open.join('$')
}

/** The position after the brace that closes a block; `start` is after the one that opens it. */
function endOfBlock(code: string, start: number): number | null {
  let depth = 1
  for (let i = start; i < code.length; i++) {
    if (code[i] === '{') depth++
    if (code[i] === '}' && --depth === 0) return i + 1
  }
  return null
}

/** The full name of this class's superclass; null if the file does not say. */
export function superclassOf(text: string, className: string): string | null {
  const code = codeOf(text)
  const simple = className.replace(/^.*[.$]/, '').replace(/\W/g, '\\$&')
  const [, above] = new RegExp(`\\bclass\\s+${simple}\\b[^{]*?\\bextends\\s+([\\w.]+)`).exec(code) ?? []
  if (above === undefined || above.includes('.')) return above ?? null
  const [, imported] = new RegExp(`^\\s*import\\s+([\\w.]+\\.${above})\\s*;`, 'm').exec(code) ?? []
  return imported ?? className.replace(/[^.]*$/, above)
}

/**
 * A source file's text and its encoding: files that are not UTF-8 are read as ISO-8859-1, which preserves every byte.
 */
export function readJava(data: string | Uint8Array): { text: string; encoding: 'utf8' | 'latin1' } {
  const encoding = isUtf8(data) ? 'utf8' : 'latin1'
  return { text: Buffer.from(data).toString(encoding), encoding }
}

export function isUtf8(data: string | Uint8Array): boolean {
  return typeof data === 'string' || Buffer.from(Buffer.from(data).toString('utf8')).equals(data)
}

/** The file without these methods, such as `a.ATest::testB`; null if one of them cannot be found. */
export function withoutMethods(text: string, names: readonly string[]): string | null {
  let left = text
  for (const name of names) {
    const method = findMethod(left, name)
    if (method === null) return null
    left = left.slice(0, method.from) + left.slice(method.to)
  }
  return left
}

/**
 * What a test, `a.ATest::testB`, does up to and including the statement on this line, leaving out what it checks
 * afterwards; the whole test if there is no line. Null if the test cannot be found.
 */
export function reproduction(text: string, name: string, line: number | null): string | null {
  const method = findMethod(text, name)
  if (method === null) return null
  const code = codeOf(text)
  const end = text.lastIndexOf('}', method.to - 1)
  const start = line === null ? end : startOfLine(text, line)
  const to = start < method.body || start >= end ? end : endOfStatement(code, method.body, start, end)
  return dedented(text.slice(method.body, to))
}

function startOfLine(text: string, line: number): number {
  let at = 0
  for (let i = 1; i < line; i++) at = text.indexOf('\n', at) + 1
  return at
}

/**
 * The end of the statement that `at` is in; inside a block of the method, the end of the block and whatever belongs to
 * it.
 */
function endOfStatement(code: string, body: number, at: number, limit: number): number {
  let [depth, round] = [0, 0]
  for (let i = body; i < limit; i++) {
    const char = code[i]
    if (char === '(') round++
    if (char === ')') round--
    if (char === '{') depth++
    if (char === '}') depth--
    if (i < at || depth > 0 || round > 0 || (char !== ';' && char !== '}')) continue
    if (/^\s*(?:catch|finally|else|while)\b|^\s*[;.)]/.test(code.slice(i + 1))) continue
    return i + 1
  }
  return limit
}

function dedented(text: string): string {
  const lines = text
    .replace(/\t/g, '    ')
    .replace(/^\s*\n|\s+$/g, '')
    .split('\n')
  const indent = Math.min(
    ...lines.filter((line) => line.trim() !== '').map((line) => /^ */.exec(line)?.[0].length ?? 0),
  )
  return lines.map((line) => line.slice(indent).trimEnd()).join('\n')
}
