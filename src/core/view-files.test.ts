import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fileName } from './view-files.ts'

test('names become plain parts of paths', () => {
  expect(fileName('my-job_1.x')).toBe('my-job_1.x')
  expect(fileName('org/model 8B')).toBe('org~2Fmodel~208B')
  expect([fileName('.'), fileName('..'), fileName('~')]).toEqual(['~2e', '~2e.', '~7e'])
})

test('different names stay different, short, and safe for every file server', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.string({ unit: 'binary', maxLength: 300 }),
      (a, b) => {
        expect(fileName(a)).toMatch(/^[\w.~-]{0,130}$/)
        expect(fileName(a).startsWith('.')).toBe(false)
        const well = (text: string) => text.replace(/\p{Surrogate}/gu, '\u{fffd}')
        if (well(a) !== well(b)) expect(fileName(a)).not.toBe(fileName(b))
      },
    ),
  )
})
