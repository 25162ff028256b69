import { expect, test } from 'vitest'
import { commandArgs } from './entry.ts'

const request = { merged: '/merged', mounts: [], readOnly: [], env: {}, cwd: '/', newSession: true, userns: true }

test('every value stays one argument', () => {
  const args = commandArgs({ ...request, env: { A: '--bind / /\n"' }, cwd: '/a b' }).split('\0')
  expect(args.slice(args.indexOf('--setenv'))).toEqual(['--setenv', 'A', '--bind / /\n"', '--chdir', '/a b', ''])
})

test.each([
  { ...request, env: { A: 'x\0--bind\0/\0/mnt' } },
  { ...request, env: { 'A\0B': 'x' } },
  { ...request, cwd: '/\0--bind\0/\0/mnt' },
])('a NUL cannot smuggle in an argument', (hostile) => {
  expect(() => commandArgs(hostile)).toThrow('NUL')
})
