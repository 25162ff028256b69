import { type FindCall, findsFolders, isNameTest, testsOf } from './find.ts'

const units: Readonly<Record<string, RegExp>> = {
  c: /\bbytes?\b|\d+\s?b\b/i,
  k: /\bk\b|\d+\s?kb?\b|\bkb\b|\bkilobytes?\b|\bkib\b/i,
  M: /\d+\s?mb?\b|\bmb\b|\bmegabytes?\b|\bmib\b/i,
}

/** Why sizes in words and tests may not mean the same. */
export function sizeDisagreement(words: string, call: FindCall): string | null {
  for (const { name, value } of testsOf(call)) {
    if (name !== 'size' || /^0/.test(value)) continue
    const [, sign = '', count = '', unit = ''] = /^([+-]?)(\d+)([ckM])$/.exec(value) ?? []
    if (count === '' || !units[unit]?.test(words)) return 'a size in another unit'
    const more = /\b(?:larger|greater|more|bigger|over|above|exceed\w*|excess)\b/i.test(words)
    const less = /\b(?:less|smaller|under \d|below \d|fewer|lower)\b/i.test(words)
    if ((sign === '+') !== more || (sign === '-') !== less) return 'a size on another side'
    // `-size -2M` matches files of at most one megabyte, because of rounding that no request means.
    if (sign === '-' && Number(count) < 4 && unit !== 'c') return 'a size that is rounded'
    if (Number(count) * { c: 1, k: 1024, M: 1024 * 1024 }[unit as 'c' | 'k' | 'M'] > 100 * 1024 * 1024)
      return 'a huge size'
  }
  return null
}

const numberWords = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']

/**
 * Why numbers in words and command differ; both must give all of them, except a depth of one, which has other wordings.
 */
export function numberDisagreement(words: string, call: FindCall, more: readonly number[]): string | null {
  const plain = words.replace(/"[^"]*"|'[^']*'|\S*[.*/]\S*/g, ' ')
  const said = new Set([...plain.matchAll(/(?<![\w.])(\d+)/g)].map(([, number]) => Number(number)))
  for (const [number, word] of numberWords.entries()) if (new RegExp(`\\b${word}\\b`, 'i').test(plain)) said.add(number)
  const sizes = testsOf(call).flatMap(({ name, value }) => (name === 'size' ? [Number(value.replace(/\D/g, ''))] : []))
  const names = testsOf(call)
    .filter(isNameTest)
    .map(({ value }) => value)
    .join(' ')
  const depths = [call.maxDepth, call.minDepth].filter((depth) => depth !== null)
  const perms = testsOf(call).flatMap(({ name, value }) =>
    name === 'perm' ? [Number(value), Number(value.replace(/^0/, ''))] : [],
  )
  const chmod =
    call.action.name === 'exec' ? call.action.words.filter((word) => /^0?[0-7]{3}$/.test(word)).map(Number) : []
  const used = new Set([
    ...sizes,
    ...perms,
    ...chmod,
    ...more,
    ...depths,
    ...depths.map((depth) => depth + 1),
    ...depths.map((depth) => depth - 1),
    ...[...names.matchAll(/\d+/g)].map(([n]) => Number(n)),
  ])
  const extra = [...said].find((number) => !used.has(number) && !(number === 1))
  if (extra !== undefined) return `the command does not use ${extra}`
  if (sizes.some((size) => !said.has(size) && size !== 0)) return 'a size that is not said'
  if (depths.some((depth) => depth > 1 && !said.has(depth))) return 'a depth that is not said'
  // "Two levels down" may count the files or their folders.
  const saysLevels = /\b(?:levels?|deep|starting from one)\b/i.test(words)
  if (call.minDepth !== null && (call.minDepth > 1 || saysLevels) && !findsFolders(call)) return 'an unclear depth'
  if (call.maxDepth === null && call.minDepth !== null && /\b(?:max\w*|at most)\b/i.test(words)) return 'another depth'
  if (call.maxDepth !== null && call.minDepth === null && /\b(?:min\w*|at ?least)\b.*\blevels?\b/i.test(words))
    return 'another depth'
  if (call.minDepth !== null && !/depth|level|deep|below|sub/i.test(words)) return 'a depth that is not said'
  return null
}
