import { expect, test } from 'vitest'
import { commandArgs } from './entry.ts'

const request = {
  merged: '/merged',
  kernelFiles: [],
  mounts: [],
  readOnly: [],
  env: {},
  cwd: '/',
  newSession: true,
  userns: true,
}

test('every value stays one argument', () => {
  const args = commandArgs({ ...request, env: { A: '--bind / /\n"' }, cwd: '/a b' })
  expect(args.slice(args.indexOf('--setenv'))).toEqual(['--setenv', 'A', '--bind / /\n"', '--chdir', '/a b'])
})

test.each([
  { ...request, env: { A: 'x\0--bind\0/\0/mnt' } },
  { ...request, env: { 'A\0B': 'x' } },
  { ...request, cwd: '/\0--bind\0/\0/mnt' },
])('a NUL cannot smuggle in an argument', (hostile) => {
  expect(() => commandArgs(hostile)).toThrow('NUL')
})

test('files of the kernel are covered in /proc, once it is mounted', () => {
  const kernelFiles = [
    { path: '/proc/fs', isDirectory: true, isHidden: false },
    { path: '/proc/acpi', isDirectory: true, isHidden: true },
    { path: '/proc/keys', isDirectory: false, isHidden: true },
  ]
  const args = commandArgs({ ...request, kernelFiles }).join(' ')
  const covers = [
    '--ro-bind /proc/fs /proc/fs',
    '--size 4096 --perms 0555 --tmpfs /proc/acpi',
    '--ro-bind /dev/null /proc/keys',
  ]
  expect(args).toMatch(new RegExp(`--proc /proc .*${covers.join(' ')} .*--cap-drop ALL`))
})
