import type { Random } from 'ot-agent'
import type { Test } from './find.ts'

const unitBytes: Readonly<Record<string, number>> = { c: 1, k: 1024, M: 1024 * 1024 }

/** The size of a matching file, far from the limit; null for any size, undefined if the tests are not understood. */
export function sizeFor(tests: readonly Test[], random: Random): number | null | undefined {
  const sizes = tests.filter(({ name }) => name === 'size' || name === 'empty')
  const [test] = sizes
  if (sizes.length > 1) return undefined
  if (!test) return null
  if (test.name === 'empty' || /^0/.test(test.value)) return test.negated ? null : 0
  return test.negated ? otherSize({ ...test, negated: false }, random) : rightSize(test.value, random)
}

function rightSize(value: string, random: Random): number {
  const { sign, bytes } = sizeOf(value)
  if (sign === '') return bytes
  return sign === '+'
    ? Math.ceil(bytes * 1.3) + 5000 + random.below(100)
    : Math.max(1, Math.floor(bytes / 3) - random.below(10))
}

/** The size of a file that does not match; null for a few lines of text. */
export function otherSize({ value, negated }: Test, random: Random): number | null {
  if (/^0/.test(value)) return negated ? 0 : null
  if (negated) return rightSize(value, random)
  const { sign, bytes } = sizeOf(value)
  return sign === '-'
    ? Math.ceil(bytes * 1.3) + 5000 + random.below(100)
    : Math.max(1, Math.floor(bytes / 3) - random.below(10))
}

function sizeOf(value: string): { readonly sign: string; readonly bytes: number } {
  const [, sign = '', count = '0', unit = 'c'] = /^([+-]?)(\d+)([ckM]?)$/.exec(value) ?? []
  return { sign, bytes: Number(count) * (unitBytes[unit] ?? 512) }
}
