import type { SweRow } from './parse-row.ts'

/**
 * Why a written issue cannot be worked on; null when nothing is wrong with it. Meant for issues that a model wrote
 * about a bug: people may well report something without knowing where it is.
 */
export function unclearIssue({ statement, bug, fix }: SweRow): string | null {
  if (bug.length === 0) return null
  const blank = /<(?:your|insert|some)[_ ][\w ]{1,40}>|<[\w ]{1,40}[_ ]here>/i.exec(statement)
  if (blank) return `its example was never filled in: ${blank[0]}`
  const code = new Set([...statement.matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text))
  const hasExample = statement.includes('```') || [...code].some((text) => !/^[\w.]+$/.test(text))
  if (code.size < 2 && !hasExample) return 'it has neither an example nor two names of anything'
  // An error message can be searched for.
  if (/\b[A-Z]\w*(?:Error|Exception|Warning)\b/.test(statement)) return null
  const words = statement.toLowerCase().match(/[a-z_][a-z_0-9]+/g) ?? []
  const changed = namesOf(fix.text)
  const isNamed = (name: string) => words.some((word) => word === name || (name.length > 3 && word.includes(name)))
  if (!changed.some((name) => isNamed(name.toLowerCase())))
    return `it names nothing of what is broken, neither ${changed.slice(0, 3).join(' nor ')}`
  return null
}

/** The names a patch is about: its package, its files, and the functions and classes that its hunks are in. */
function namesOf(patch: string): string[] {
  const paths = [...patch.matchAll(/^(?:---|\+\+\+) [ab]\/(\S+)/gm)].map(([, path = '']) => path)
  const parts = paths.flatMap((path) => path.replace(/\.\w+$/, '').split('/'))
  const definitions = [...patch.matchAll(/^(?:@@[^\n]*@@|[-+ ])\s*(?:async )?(?:def|class)\s+(\w+)/gm)]
  const names = [...parts, ...definitions.map(([, name = '']) => name)]
  return [...new Set(names)].filter((name) => name.length > 2 && !/^(?:src|lib|init|__init__|test|tests)$/.test(name))
}
