import type { Random } from 'ot-agent'
import { saysBoth } from './agreement.ts'
import type { Test } from './find.ts'
import { globRegExp, nameFor, vocabulary } from './globs.ts'
import { otherSize, sizeFor } from './sizes.ts'
import { datesFor, isTime } from './times.ts'

export const isNamed = ({ name }: Test) => name === 'name' || name === 'iname'
export const isPath = ({ name }: Test) => /path$|wholename$/.test(name)

/** Something to place in the folder, as far as the request determines it. */
export interface Wish {
  readonly kind: 'file' | 'dir' | 'link'
  readonly name: string
  /** Bytes; null for a few lines of text. */
  readonly size: number | null
  readonly mode?: string | undefined
  readonly date?: string | undefined
  readonly text?: string | undefined
}

/** Three to five things that pass all tests except those of paths; null if none can be found. */
export function wishesFor(tests: readonly Test[], words: string, random: Random): Wish[] | null {
  const first = oneWish(tests, words, random)
  // Few large files: an image stores every byte of them.
  const more = (first?.size ?? 0) > 10_000_000 ? 1 : 2 + random.below(3)
  const wishes = [first, ...Array.from({ length: more }, () => oneWish(tests, words, random))]
  return wishes.some((wish) => wish === null) ? null : (wishes as Wish[])
}

function oneWish(tests: readonly Test[], words: string, random: Random): Wish | null {
  const type = tests.find(({ name, negated }) => name === 'type' && !negated)?.value
  const isFolder = type === 'd'
  const kind = type === 'l' ? 'link' : isFolder ? 'dir' : 'file'
  const size = sizeFor(tests, random)
  const perm = tests.find(({ name }) => name === 'perm')
  const mode = perm && (perm.negated ? random.pick(otherModes(perm.value)) : perm.value.replace(/^0(?=\d{3}$)/, ''))
  const time = tests.find(isTime)
  const name =
    nameLike(tests, words, random) ??
    (tests.some((test) => isNamed(test) && !test.negated) ? null : plainName(isFolder, random))
  if (name === null || size === undefined || (isFolder && tests.some(({ name }) => name === 'size'))) return null
  const isDir = type === undefined && saysBoth.test(words) && size === null && random.below(3) === 0
  return { kind: isDir ? 'dir' : kind, name, size, mode, date: time && datesFor(time).hit }
}

/** A name that passes the name tests; null if there is none, or if names do not matter. */
function nameLike(tests: readonly Test[], words: string, random: Random): string | null {
  const wanted = tests.filter((test) => isNamed(test) && !test.negated)
  const unwanted = tests.filter((test) => isNamed(test) && test.negated).map(({ value }) => globRegExp(value, 'i'))
  const [first] = wanted
  for (let tries = 0; first && tries < 20; tries++) {
    const name = nameFor(first.value, random)
    if (name === null) return null
    const cased = first.name === 'iname' && /\bcase\b|insensitiv/i.test(words) ? mixCase(name, random) : name
    const isWanted = wanted.every(({ name: kind, value }) =>
      globRegExp(value, kind === 'iname' ? 'i' : '')?.test(cased),
    )
    if (isWanted && unwanted.every((pattern) => !pattern?.test(cased))) return cased
  }
  return null
}

/** Things that pass all tests but one: another name, kind, size, mode or date. */
export function nearMisses(tests: readonly Test[], words: string, random: Random): Wish[] {
  return tests.flatMap((test): Wish[] => {
    const like = () => oneWish(tests, words, random)
    const both = (change: () => Partial<Wish>) =>
      [like(), like()].flatMap((wish) => (wish ? [{ ...wish, ...change() }] : []))
    if (isNamed(test)) {
      const names = test.negated ? [0, 1].map(() => nameFor(test.value, random)) : otherNames(test, random)
      return names.flatMap((name) => [like()].flatMap((wish) => (wish && name !== null ? [{ ...wish, name }] : [])))
    }
    if (test.name === 'perm')
      return both(() => ({ mode: test.negated ? test.value : random.pick(otherModes(test.value)) }))
    if (isTime(test)) return both(() => ({ date: undefined }))
    if (test.name === 'size') return both(() => ({ size: otherSize(test, random) }))
    if (test.name === 'empty') return both(() => ({ kind: 'file', size: test.negated ? 0 : null }))
    if (test.name === 'type' && test.value === 'd') return both(() => ({ kind: 'file', size: null }))
    // Only some requests make clear whether folders count as files.
    if (
      test.name === 'type' &&
      test.value === 'f' &&
      /\bregular\b|\bnormal\b/.test(words) &&
      !tests.some(({ name }) => name === 'perm')
    )
      return both(() => ({ kind: 'dir' }))
    return []
  })
}

/** Names that a pattern narrowly fails to match. */
function otherNames({ name, value }: Test, random: Random): string[] {
  const word = () => random.pick(vocabulary)
  const fixed = value.replace(/^\*|\*$/g, '')
  const near = nameFor(value, random)
  const names = [`${word()}.${random.pick(['cfg', 'dat', 'rst'])}`]
  if (near !== null)
    names.push(
      `${near}.${random.pick(['bak', 'orig'])}`,
      near.replace(/\.\w+$/, `.${random.pick(['bak', 'old', 'dat'])}`),
    )
  if (/^[\w.-]+$/.test(fixed) && value.startsWith('*') && !value.endsWith('*'))
    names.push(`${fixed.replace(/^\./, '')}-${word()}.dat`)
  if (/^[\w.-]+$/.test(fixed) && value.endsWith('*') && !value.startsWith('*')) names.push(`${word()}-${fixed}`)
  return names.filter((other) => !globRegExp(value, name === 'iname' ? 'i' : '')?.test(other))
}

export const otherModes = (mode: string) => ['600', '640', '700', '664', '711'].filter((other) => !mode.endsWith(other))

function plainName(isFolder: boolean, random: Random): string {
  const stem = `${random.pick(vocabulary)}${random.pick(['', '-', '_'])}${random.pick(['notes', 'list', 'draft', 'plan', 'copy'])}`
  return isFolder ? stem : `${stem}.${random.pick(['txt', 'md', 'csv', 'log', 'json'])}`
}

function mixCase(name: string, random: Random): string {
  return [...name].map((char) => (random.below(3) === 0 ? char.toUpperCase() : char)).join('')
}
