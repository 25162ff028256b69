import { expect, test } from 'vitest'
import { ExhaustionError, exhaustedBy, exhaustionCause, exhaustionIn, onExhaustion, patiently } from './exhaustion.ts'

const failed = (code: string, syscall: string) => Object.assign(new Error(`${syscall} ${code}`), { code, syscall })

test.each([
  ['EMFILE', 'open', 'file descriptors'],
  ['EMFILE', 'spawn sh', 'file descriptors'],
  ['ENFILE', 'open', 'file descriptors'],
  ['EAGAIN', 'spawn sh', 'processes'],
  ['EAGAIN', 'read', null],
  ['ENOMEM', 'spawn', 'memory'],
  ['ENOENT', 'spawn sh', null],
  ['ENOSPC', 'write', null],
])('%s of %s means %s', (code, syscall, resource) => {
  expect(exhaustedBy(failed(code, syscall))).toBe(resource)
  expect(exhaustedBy(new Error('wrapped', { cause: new Error('twice', { cause: failed(code, syscall) }) }))).toBe(
    resource,
  )
})

test('a terminal that cannot be forked is recognized by its message, because it has no code', () => {
  expect(exhaustedBy(new Error('forkpty(3) failed.'))).toBe('pseudo-terminals')
  const full = (path: string) => Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', path })
  expect([exhaustedBy(full('/dev/ptmx')), exhaustedBy(full('/home/file'))]).toEqual(['pseudo-terminals', null])
})

test.each([
  ['unshare: fork failed: Resource temporarily unavailable', 'processes'],
  ['sh: 3: Cannot fork', 'processes'],
  ['bwrap: Can’t open /proc: Too many open files', 'file descriptors'],
  ['nsenter: fork failed: Cannot allocate memory', 'memory'],
  ['bwrap: execvp nope: No such file or directory', null],
])('%s', (complaint, resource) => {
  expect(exhaustionIn(complaint)).toBe(resource)
  expect(exhaustionCause(complaint).cause?.resource ?? null).toBe(resource)
})

test('work that fails temporarily is retried, and listeners are notified', async () => {
  const heard: string[] = []
  const stop = onExhaustion((resource) => heard.push(resource))
  let left = 2
  const work = async () => {
    if (left-- > 0) throw failed('EMFILE', 'open')
    return 'done'
  }
  expect(await patiently(work)).toBe('done')
  expect(heard).toEqual(['file descriptors', 'file descriptors'])
  stop()
})

test('any other failure is thrown at once, and patience ends', async () => {
  let calls = 0
  const work = async () => {
    calls++
    throw failed('ENOENT', 'open')
  }
  await expect(patiently(work)).rejects.toThrow('ENOENT')
  expect(calls).toBe(1)
  const never = async () => Promise.reject(new ExhaustionError('memory', 'none'))
  await expect(patiently(never)).rejects.toThrow('none')
})
