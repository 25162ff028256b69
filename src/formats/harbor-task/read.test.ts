import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stripCanary } from './read.ts'

test.each([
  ['<!-- canary GUID 1 -->\n\nDo it.\n', 'Do it.\n'],
  ['# BENCHMARK CANARY x\n<!-- second Canary -->\r\n\n \t\nDo it.\n\n', 'Do it.\n\n'],
  ['# Title\n# canary in the second line\n', '# Title\n# canary in the second line\n'],
  ['The canary sings.\n', 'The canary sings.\n'],
  ['# canary', ''],
  ['# canary\n\n\n', ''],
  ['', ''],
  ['\n\n  Do it.  ', '  Do it.  '],
  ['<!-- canary --> Do it.', '<!-- canary --> Do it.'],
  ['# canary\r\nDo\r\nit.\r\n', 'Do\r\nit.\r\n'],
])('reads %j as %j', (text, instruction) => {
  expect(stripCanary(text)).toBe(instruction)
})

test('leaves every text that starts with a word alone', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (rest) => {
      expect(stripCanary(`Do ${rest}`)).toBe(`Do ${rest}`)
    }),
  )
})
