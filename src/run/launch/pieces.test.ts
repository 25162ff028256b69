import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { expandable } from './pieces.ts'

test.each([
  ['$HOME/x', '/home/me/x'],
  ['${HOME}/x', '/home/me/x'],
  ['${none:-y}', 'y'],
  ['${HOME%/me}/x ${HOME:-${none}}', '/home/x /home/me'],
  ['${none+$(echo obeyed)}${PS9:=$(echo obeyed)}${PS9@P}', '${PS9:=$(echo obeyed)}${PS9@P}'],
  ['$(echo obeyed)', '$(echo obeyed)'],
  ['${none:-$(echo obeyed)}', '$(echo obeyed)'],
  ['a\\$(echo obeyed)', 'a\\$(echo obeyed)'],
  ['`echo obeyed`', '`echo obeyed`'],
  ['$((1 + 1)) $[1 + 1] 5$', '$((1 + 1)) $[1 + 1] 5$'],
  ['"; echo obeyed; "', '"; echo obeyed; "'],
])('of a value only variables are replaced: %s', (value, expected) => {
  const script = `text=${expandable(value)}; printf %s "$text"`
  const env = { PATH: process.env.PATH, HOME: '/home/me' }
  expect(execFileSync('bash', ['-c', script], { env, encoding: 'utf8' })).toBe(expected)
})
