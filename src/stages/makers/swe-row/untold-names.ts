import type { SweRow } from './parse-row.ts'

/**
 * Names that the tests use, that only the fix introduces, and that the issue does not mention: a function, a class, a
 * constant or an argument. A different correct fix fails such tests.
 */
export function untoldNames({ statement, fix, bug, testPatch, testFiles }: SweRow): string[] {
  // An injected bug removes names that the repository's own tests and callers use.
  if (bug.length > 0) return []
  const tests = testPatch ? linesOf(testPatch.text, '+') : Object.values(testFiles).flatMap((text) => text.split('\n'))
  const patches = [fix.text, testPatch?.text ?? '']
  const known = [statement, ...patches.flatMap((text) => linesOf(text, ' -'))].join('\n')
  const own = new Set(
    tests.flatMap((line) => /^\s*(?:(?:def|class)\s+(\w+)|(\w+)\s*=(?!=))/.exec(line)?.slice(1) ?? []),
  )
  const names = new Set(linesOf(fix.text, '+').flatMap(defined))
  return [...names].filter(
    (name) =>
      name.length > 3 &&
      !name.startsWith('__') &&
      !own.has(name) &&
      hasWord(tests.join('\n'), name) &&
      !hasWord(known, name),
  )
}

/** What a line of Python defines: a function or class, a constant, or arguments with a default. */
function defined(line: string): string[] {
  const [, head] = /^\s*(?:async )?(?:def|class)\s+(\w+)/.exec(line) ?? []
  const [, constant] = /^([A-Za-z_]\w*)\s*(?::[^=]+)?=(?!=)/.exec(line) ?? []
  const [, list = ''] = /^\s*def\s+\w+\((.*)/.exec(line) ?? []
  const plain = [...list.matchAll(/\b(\w+)=/g)].map(([, name = '']) => name)
  const typed = [...line.matchAll(/(?<![\w.])(\w+)\s*:\s*[\w[\], .]+=\s*[^=]/g)].map(([, name = '']) => name)
  return [head, constant, ...plain, ...typed].filter((name) => name !== undefined)
}

/** The lines of a patch that start with one of these signs, without the sign. */
function linesOf(patch: string, signs: string): string[] {
  return patch
    .split('\n')
    .filter((line) => signs.includes(line[0] ?? '\0') && !/^(?:\+\+\+|---) /.test(line))
    .map((line) => line.slice(1))
}

function hasWord(text: string, word: string): boolean {
  return new RegExp(`(?<!\\w)${word}(?!\\w)`).test(text)
}
