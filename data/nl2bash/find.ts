import type { Word } from './shell.ts'

/** A test of `find`, such as `-name '*.py'`. */
export interface Test {
  readonly name: string
  readonly value: string
  readonly negated: boolean
}

/** A `find` call of the kind used in these tasks. */
export interface FindCall {
  readonly roots: readonly string[]
  readonly maxDepth: number | null
  readonly minDepth: number | null
  /** Alternatives (`-o`), each a list of tests that must all hold. */
  readonly alternatives: readonly (readonly Test[])[]
  readonly action: { readonly name: 'print' | 'delete' } | { readonly name: 'exec'; readonly words: readonly string[] }
}

export const testsOf = ({ alternatives }: FindCall): readonly Test[] => alternatives.flat()
export const isNameTest = ({ name }: Test) => /name$|path$/.test(name)
export const findsFolders = (call: FindCall) =>
  testsOf(call).some(({ name, value }) => name === 'type' && value === 'd')

const valued = new Set([
  'name',
  'iname',
  'type',
  'size',
  'perm',
  'path',
  'ipath',
  'wholename',
  'iwholename',
  'mtime',
  'mmin',
  'newer',
])

/**
 * Reads a call; null if it has tests or operators that are not understood, or that depend on more than names, kinds and
 * sizes.
 */
export function parseFind(words: readonly Word[]): FindCall | null {
  const texts = words.slice(1).map(({ text }) => text)
  const firstTest = texts.findIndex((text) => /^(?:-|!$|\($)/.test(text))
  const roots = texts.slice(0, firstTest < 0 ? texts.length : firstTest)
  const read = readExpression(firstTest < 0 ? [] : texts.slice(firstTest))
  return read && { ...read, roots: roots.length > 0 ? roots : ['.'] }
}

interface Reading {
  maxDepth: number | null
  minDepth: number | null
  action: FindCall['action'] | null
  /** Tests next to a parenthesized group, which apply to all its alternatives. */
  common: Test[]
  alternatives: Test[][]
  group: 'none' | 'open' | 'closed'
  negated: boolean
}

function readExpression(texts: readonly string[]): Omit<FindCall, 'roots'> | null {
  const so: Reading = {
    ...{ maxDepth: null, minDepth: null, action: null, common: [], alternatives: [[]] },
    ...{ group: 'none', negated: false },
  }
  let at = 0
  while (at < texts.length) {
    const taken = readOne(texts, at, so)
    if (taken === 0) return null
    at += taken
  }
  if (so.negated || so.group === 'open') return null
  const { maxDepth, minDepth, action, common } = so
  const alternatives = so.alternatives.map((tests) => [...common, ...tests])
  return { maxDepth, minDepth, alternatives, action: action ?? { name: 'print' } }
}

/** Reads what is at a position and returns how many words it took; 0 if it is not understood. */
function readOne(texts: readonly string[], at: number, so: Reading): number {
  const text = texts[at] ?? ''
  const name = text.replace(/^-/, '')
  const value = texts[at + 1]
  // Anything after an action is not understood.
  if (so.action !== null) return 0
  if (text === '!' || name === 'not') {
    so.negated = !so.negated
    return 1
  }
  if (text === '(' || text === ')') return readParenthesis(text, so)
  if (!text.startsWith('-')) return 0
  if (name === 'o' || name === 'or') {
    if (so.group === 'closed') return 0
    so.alternatives.push([])
    return 1
  }
  if (name === 'a' || name === 'and') return 1
  if (name === 'maxdepth' || name === 'mindepth') {
    if (!/^\d+$/.test(value ?? '')) return 0
    so[name === 'maxdepth' ? 'maxDepth' : 'minDepth'] = Number(value)
    return 2
  }
  if (name === 'empty' || valued.has(name)) {
    if (name !== 'empty' && value === undefined) return 0
    const list = so.group === 'closed' ? so.common : so.alternatives.at(-1)
    list?.push({ name, value: name === 'empty' ? '' : (value ?? ''), negated: so.negated })
    so.negated = false
    return name === 'empty' ? 1 : 2
  }
  return readAction(texts, at, so)
}

/** Accepts one pair, with tests next to it that apply to all of it; anything else would be a tree. */
function readParenthesis(text: string, so: Reading): number {
  if (text === ')') {
    if (so.group !== 'open') return 0
    so.group = 'closed'
    return 1
  }
  if (so.group !== 'none' || so.negated || so.alternatives.length > 1) return 0
  so.group = 'open'
  so.common = so.alternatives[0] ?? []
  so.alternatives = [[]]
  return 1
}

/** After `-o` without parentheses, an action belongs to the last alternative alone, which is hardly ever intended. */
function readAction(texts: readonly string[], at: number, so: Reading): number {
  const name = (texts[at] ?? '').replace(/^-/, '')
  if (so.negated || so.group === 'open' || (so.alternatives.length > 1 && so.group !== 'closed')) return 0
  if (name === 'print' || name === 'delete') {
    so.action = { name }
    return 1
  }
  if (name === 'print0') {
    so.action = { name: 'print' }
    return 1
  }
  const end = texts.findIndex((word, nth) => nth > at && (word === ';' || word === '+'))
  if (name !== 'exec' || end < 0) return 0
  so.action = { name: 'exec', words: texts.slice(at + 1, end) }
  return end - at + 1
}
