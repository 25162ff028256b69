import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SecretStream } from './secret-stream.ts'

const secret = 'sk-hunter22'
const through = (pieces: readonly string[], secrets: readonly string[] = [secret]) => {
  const stream = new SecretStream(secrets, '****')
  return pieces.map((piece) => stream.push(piece)).join('') + stream.end()
}

test('a secret is hidden wherever its text is cut', () => {
  const text = `a ${secret} sk-hunt ${secret}${secret}.`
  const cuts = fc.array(fc.nat({ max: text.length }), { maxLength: 6 }).map((at) => [...at].sort((a, b) => a - b))
  fc.assert(
    fc.property(cuts, (at) => {
      const pieces = [0, ...at].map((from, i) => text.slice(from, at[i] ?? text.length))
      expect(through(pieces)).toBe('a **** sk-hunt ********.')
    }),
  )
})

test.each([
  ['colored in parts', 'sk\x1b[m\x1b[K-hunter22'],
  ['wrapped while it was typed', 'sk-hun \rter22'],
  ['printed over the end of a line', 'sk-hun\r\nter22'],
])('a secret is hidden although it is %s', (_, text) => {
  expect(through(['\x1b[01;31m', text, '\x1b[m'])).toBe('\x1b[01;31m****\x1b[m')
  expect(through([...text])).toBe('****')
})

test('a secret of several lines is hidden as a terminal prints it', () => {
  const key = '-----BEGIN-----\nabc\n-----END-----'
  expect(through([`x${key.replaceAll('\n', '\r\n')}y`], [key])).toBe('x****y')
})

test('of two secrets that begin alike the longer one is hidden, and the shorter one where it stands alone', () => {
  const secrets = ['secret', 'secret-longer']
  expect(through(['a secret', '-longer b secret', '-loud'], secrets)).toBe('a **** b ****-loud')
  expect(through(['a secret'], secrets)).toBe('a ****')
})

test('text without secrets comes through as it is, and at once where it cannot be the beginning of one', () => {
  const stream = new SecretStream([secret], '****')
  expect(stream.push('$ ls')).toBe('$ l')
  expect(stream.push(' -l\r\n\x1b[0mtotal 0\r\n$ ')).toBe('s -l\r\n\x1b[0mtotal 0\r\n$ ')
  fc.assert(fc.property(fc.array(fc.string()), (pieces) => through(pieces) === pieces.join('')))
})
