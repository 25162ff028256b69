/** The parts of a row that a task needs. */
export interface FocalRow {
  readonly method: string
  readonly test: string
  readonly testClass: string
  readonly focalFile: string
  readonly focalCode: string
  readonly testFile: string
  readonly testCode: string
  readonly framework: string
}

/** Reads a row; files keep only their base name, since each task has one of each. Null if something is missing. */
export function textFields(fields: Readonly<Record<string, unknown>>): FocalRow | null {
  const identifier = (value: unknown) => String(Object(value).identifier ?? '')
  const file = (value: unknown) => String(value ?? '').replace(/^.*\//, '')
  const row = {
    method: identifier(fields.focal_method),
    test: identifier(fields.test_case),
    testClass: identifier(fields.test_class),
    focalFile: file(fields.focal_file),
    focalCode: String(fields.focal_code ?? ''),
    testFile: file(fields.test_file),
    testCode: String(fields.test_code ?? ''),
    framework: String(fields.test_framework ?? ''),
  }
  const isNamed = [row.method, row.test, row.testClass].every((name) => /^[A-Za-z_]\w*$/.test(name))
  const isFiled = [row.focalFile, row.testFile].every((name) => /^[A-Za-z_]\w*\.py$/.test(name))
  return isNamed && isFiled && row.focalCode !== '' && row.testCode !== '' ? row : null
}

const standard = new Set(
  (
    '__future__ _thread abc argparse array ast asyncio atexit base64 bdb binascii bisect builtins bz2 cProfile calendar cmath cmd ' +
    'code codecs codeop collections colorsys compileall concurrent configparser contextlib contextvars copy copyreg csv ' +
    'ctypes curses dataclasses datetime dbm decimal difflib dis doctest email encodings enum errno faulthandler fcntl ' +
    'filecmp fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip ' +
    'hashlib heapq hmac html http imaplib importlib inspect io ipaddress itertools json keyword linecache locale logging ' +
    'lzma mailbox marshal math mimetypes mmap modulefinder multiprocessing netrc numbers opcode operator optparse os ' +
    'pathlib pdb pickle pickletools pkgutil platform plistlib poplib posixpath pprint profile pstats pty pwd py_compile ' +
    'pyclbr pydoc pyexpat queue quopri random re readline reprlib resource rlcompleter runpy sched secrets select selectors ' +
    'shelve shlex shutil signal site smtplib socket socketserver sqlite3 ssl stat statistics string stringprep struct ' +
    'subprocess symtable sys sysconfig syslog tabnanny tarfile tempfile termios textwrap threading time timeit token ' +
    'tokenize tomllib trace traceback tracemalloc tty types typing unicodedata unittest urllib uuid warnings wave weakref ' +
    'webbrowser wsgiref xml xmlrpc zipapp zipfile zipimport zlib zoneinfo'
  ).split(' '),
)

/** Whether unittest runs a test class: it has a base class other than `object`. */
export function isTestCase(code: string, name: string): boolean {
  const [, above = ''] = new RegExp(`^[ \\t]*class ${name}\\b[ \\t]*(?:\\(([^)]*)\\))?`, 'm').exec(code) ?? []
  return above.replace(/\bobject\b/, '').trim() !== ''
}

/**
 * Packages outside the standard library that code imports at the top level. Nested imports are often optional; the
 * check will tell.
 */
export function foreignImports(code: string, focalFile: string): string[] {
  const top = /^(?:from\s+(\.|[A-Za-z_]\w*)[\w.]*\s+import\b|import\s+([A-Za-z_]\w*))/gm
  const found = [...code.matchAll(top)].map(([, from, module]) => from ?? module ?? '')
  return [...new Set(found)].filter((name) => !standard.has(name) && `${name}.py` !== focalFile)
}

/** The code without one function's body, docstring kept; null unless exactly one function has that name. */
export function takeBody(code: string, method: string): string | null {
  const lines = code.split('\n')
  const inString = linesInStrings(code)
  const isStart = new RegExp(`^\\s*(?:async )?def ${method}\\(`)
  const starts = lines.flatMap((line, i) => (!inString.has(i) && isStart.test(line) ? [i] : []))
  const [start] = starts
  if (start === undefined || starts.length > 1) return null
  const margin = (line: string) => line.search(/\S/)
  let body = start
  while (body < lines.length && !/:\s*(?:#.*)?$/.test(lines[body] ?? '')) body++
  body++
  const inner = lines.findIndex((line, i) => i >= body && line.trim() !== '')
  if (inner < 0 || margin(lines[inner] ?? '') <= margin(lines[start] ?? '')) return null
  const isEnd = (line: string, i: number) =>
    !inString.has(i) && line.trim() !== '' && margin(line) <= margin(lines[start] ?? '')
  const after = lines.findIndex((line, i) => i >= body && isEnd(line, i))
  const end = after < 0 ? lines.length : after
  let kept = body
  if (/^\s*[rRuU]?("|')/.test(lines[inner] ?? '')) for (kept = inner + 1; inString.has(kept); ) kept++
  const pad = ' '.repeat(margin(lines[inner] ?? ''))
  const tail = Array.from({ length: trailing(lines.slice(body, end)) }, () => '')
  return [...lines.slice(0, kept), `${pad}raise NotImplementedError`, ...tail, ...lines.slice(end)].join('\n')
}

/** The lines that `takeBody` removed. */
export function bodyOf(code: string, empty: string): string[] {
  const [whole, rest] = [code.split('\n'), empty.split('\n')]
  const start = whole.findIndex((line, i) => line !== rest[i])
  let end = 0
  while (end < rest.length - start - 1 && whole.at(-1 - end) === rest.at(-1 - end)) end++
  return whole.slice(start, whole.length - end)
}

/** Words that the body writes and the test expects, but that appear nowhere else: report headings, messages. */
export function untoldWords(
  body: readonly string[],
  empty: string,
  row: Pick<FocalRow, 'test' | 'testCode'>,
): string[] {
  const wanted = functionIn(row.testCode, row.test)
  const literals = [...body.join('\n').matchAll(/(["'])((?:\\.|(?!\1)[^\\\n])*)\1/g)].map(([, , text = '']) => text)
  const pieces = literals.flatMap((text) => text.split(/%[-\d.]*[a-z]|\{[^}]*\}|\\./)).map((text) => text.trim())
  return pieces.filter(
    (text) => text.length >= 5 && /[A-Za-z]{3}/.test(text) && wanted.includes(text) && !empty.includes(text),
  )
}

/** The text of one function, up to the next line that is not indented further. */
function functionIn(code: string, name: string): string {
  const lines = code.split('\n')
  const start = lines.findIndex((line) => new RegExp(`^\\s*(?:async )?def ${name}\\(`).test(line))
  const margin = (lines[start] ?? '').search(/\S/)
  const after = lines.findIndex((line, i) => i > start && line.trim() !== '' && line.search(/\S/) <= margin)
  return lines.slice(start, after < 0 ? lines.length : after).join('\n')
}

/** The lines, counted from 0, that begin inside a multi-line string: their indentation says nothing about the code. */
function linesInStrings(code: string): Set<number> {
  const found = new Set<number>()
  // Skips comments and short strings: quotation marks in them open nothing.
  const parts = /#[^\n]*|("""|''')(?:\\[\s\S]|(?!\1)[^\\])*\1|"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'|\n/g
  let line = 0
  for (const [part] of code.matchAll(parts)) {
    if (part === '\n') line++
    else for (const _ of part.matchAll(/\n/g)) found.add(++line)
  }
  return found
}

function trailing(lines: readonly string[]): number {
  const last = lines.findLastIndex((line) => line.trim() !== '')
  return lines.length - 1 - last
}

/**
 * Python's own modules are loaded before anything of the agent's can replace them. Some test files run all their tests
 * on import.
 */
export function runner(testFile: string, test: string): string {
  return `import sys
import unittest

sys.path[:0] = ["/app", "/tests/code"]
unittest.main = lambda *args, **kwargs: None
suite = unittest.defaultTestLoader.loadTestsFromName("${testFile.replace(/\.py$/, '')}.${test}")
result = unittest.TextTestRunner(verbosity=2).run(suite)
if result.wasSuccessful() and result.testsRun > 0 and not result.skipped:
    print("the test has passed")
`
}

/** Passes only if the run reaches the end with the test passed, not on an early exit. */
export const verifier = `#!/bin/sh
reward=0
cd /
timeout 120 python3 -I -B /tests/run.py > /logs/verifier/tests.log 2>&1
if [ "$(tail -n 1 /logs/verifier/tests.log)" = "the test has passed" ]; then
  reward=1
fi
echo "$reward" > /logs/verifier/reward.txt
`
