import { expect, test } from 'vitest'
import { encodeKeystrokes, encodePaste } from './keys.ts'

const plain = { applicationCursor: false }

test.each([
  ['C-c', '\x03'],
  ['C-d', '\x04'],
  ['^C', '\x03'],
  ['C-z', '\x1a'],
  ['C-[', '\x1b'],
  ['C-\\', '\x1c'],
  ['C-_', '\x1f'],
  ['C-?', '\x7f'],
  ['C-Space', '\0'],
  ['M-x', '\x1bx'],
  ['C-M-x', '\x1b\x18'],
  ['M-C-x', '\x1b\x18'],
  ['Enter', '\r'],
  ['Escape', '\x1b'],
  ['Tab', '\t'],
  ['BTab', '\x1b[Z'],
  ['BSpace', '\x7f'],
  ['Space', ' '],
  ['Up', '\x1b[A'],
  ['C-Left', '\x1b[1;5D'],
  ['S-M-End', '\x1b[1;4F'],
  ['Home', '\x1b[1~'],
  ['end', '\x1b[4~'],
  ['C-Home', '\x1b[1;5H'],
  ['enter', '\r'],
  ['UP', '\x1b[A'],
  ['c-c', '\x03'],
  ['PageUp', '\x1b[5~'],
  ['NPage', '\x1b[6~'],
  ['DC', '\x1b[3~'],
  ['M-DC', '\x1b[3;3~'],
  ['F1', '\x1bOP'],
  ['F5', '\x1b[15~'],
  ['F12', '\x1b[24~'],
  ['S-F1', '\x1b[1;2P'],
])('%s is one key', (name, bytes) => {
  expect(encodeKeystrokes(name, plain)).toBe(bytes)
})

test('a moving key follows the mode of the program', () => {
  expect(encodeKeystrokes('Up', { applicationCursor: true })).toBe('\x1bOA')
  expect(encodeKeystrokes('C-Up', { applicationCursor: true })).toBe('\x1b[1;5A')
})

test.each([
  'ls',
  '-la',
  'echo done;',
  'C-c C-c',
  'Enter ',
  'S-Tab',
  'Return',
  'C-',
  'C-cc',
  'S-a',
  'M-',
  '^',
  'constructor',
  'toString',
  'F13',
  '',
  'a',
  'ü',
])('%j is typed as it is', (text) => {
  expect(encodeKeystrokes(text, plain)).toBe(text)
})

test('a line end is typed as it is, or is the Enter key', () => {
  expect(encodeKeystrokes('ls\ncd /\r\n', plain)).toBe('ls\ncd /\r\n')
  expect(encodeKeystrokes('ls\ncd /\r\n', plain, 'Enter')).toBe('ls\rcd /\r')
  expect(encodeKeystrokes('C-c\n', plain, 'Enter')).toBe('C-c\r')
})

test('a paste is wrapped, its last line end is typed, and it cannot end itself', () => {
  expect(encodePaste('a\nb\n')).toBe('\x1b[200~a\rb\x1b[201~\r')
  expect(encodePaste('a\x1b[201~rm -rf /')).toBe('\x1b[200~arm -rf /\x1b[201~')
  expect(encodePaste('a\x1b[20\x1b[201~1~b')).toBe('\x1b[200~a[201~b\x1b[201~')
  expect(encodePaste('a\r\r\n\n')).toBe('\x1b[200~a\r\x1b[201~\r\r')
})

test('a paste of very many line ends is encoded like any other', () => {
  const many = '\n'.repeat(1 << 18)
  expect(encodePaste(`${many}x`)).toBe(`\x1b[200~${many.replaceAll('\n', '\r')}x\x1b[201~`)
})
