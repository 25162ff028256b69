import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { transform } from 'esbuild'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { interruptSignal } from './interrupt.ts'

const exit = vi.spyOn(process, 'exit')

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
  exit.mockReset().mockImplementation((): never => undefined as never)
  vi.spyOn(process.stderr, 'write').mockReturnValue(true)
})
afterEach(() => void vi.useRealTimers())

test.each([
  ['Ctrl-C twice ends at once', ['SIGINT', 'SIGINT'], 0, 1],
  ['a SIGTERM that is passed on after one to all is the same wish', ['SIGTERM', 'SIGTERM'], 1, 0],
  ['a SIGTERM that is passed on after Ctrl-C is the same wish', ['SIGINT', 'SIGTERM'], 1, 0],
  ['a SIGHUP of the terminal and one of its shell are the same wish', ['SIGHUP', 'SIGHUP'], 1, 0],
  ['a later SIGTERM ends at once', ['SIGTERM', 'SIGTERM'], 10, 1],
] as const)('%s', (_, signals, secondsBetween, exits) => {
  const { signal, stop } = interruptSignal(false)
  try {
    process.emit(signals[0], signals[0])
    expect(signal.aborted).toBe(true)
    vi.setSystemTime(Date.now() + secondsBetween * 1000)
    process.emit(signals[1], signals[1])
    expect(exit.mock.calls).toEqual(Array.from({ length: exits }, () => [130]))
  } finally {
    stop()
  }
})

test('a SIGHUP does nothing to a process that was started with nohup', () => {
  const { signal, stop } = interruptSignal(true)
  process.emit('SIGHUP', 'SIGHUP')
  expect(signal.aborted).toBe(false)
  stop()
  expect(process.listenerCount('SIGHUP')).toBeGreaterThan(0)
  process.removeAllListeners('SIGHUP')
})

test.each([
  ['a process with pipes stops', ['node'], {}, 'stopped'],
  ['one that nohup started from bash goes on', ['bash', '-c', 'nohup "$@"; exit', '-', 'node'], {}, 'went on'],
  ['one whose shell ignores SIGHUP goes on', ['bash', '-c', 'trap "" HUP; "$@"; exit', '-', 'node'], {}, 'went on'],
])('at a SIGHUP, %s', async (_, [program = '', ...words], env, expected) => {
  const module = new URL('./interrupt.ts', import.meta.url).pathname
  const { code } = await transform(readFileSync(module, 'utf8'), { loader: 'ts', format: 'esm' })
  const script = `${code}
    const { signal } = interruptSignal()
    signal.addEventListener('abort', () => { console.log('stopped'); process.exit() })
    process.kill(process.pid, 'SIGHUP')
    setTimeout(() => { process.kill(process.pid, 'SIGHUP'); setTimeout(() => { console.log('went on'); process.exit() }, 300) }, 300)`
  const { _: shell, ...own } = process.env
  const args = [...words, '--input-type=module', '-e', script]
  const { stdout } = await promisify(execFile)(program, args, { env: { ...own, ...env } })
  expect(stdout).toContain(expected)
})
