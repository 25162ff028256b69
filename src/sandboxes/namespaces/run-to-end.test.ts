import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { runToEnd } from './run-to-end.ts'

test.each(['abort', 'timeout'])(
  'after an %s nothing goes on killing: the next command may be in the same place',
  async (why) => {
    const child = spawn('sleep', ['1000'])
    const gone = once(child, 'exit')
    const stop = new AbortController()
    let kills = 0
    let underWay = 0
    const kill = async () => {
      kills++
      underWay++
      child.kill('SIGKILL')
      await gone
      for (let i = 0; i < 20; i++) await setImmediate()
      underWay--
    }
    const ran = runToEnd(child, { signal: stop.signal, ...(why === 'timeout' && { timeoutSec: 0.01 }) }, kill)
    if (why === 'abort') stop.abort()
    const ended = await ran.catch((error: Error) => error.name)
    expect(ended).toEqual(
      why === 'abort' ? 'AbortError' : expect.objectContaining({ timedOut: true, signal: 'SIGKILL' }),
    )
    expect({ kills, underWay }).toEqual({ kills: 2, underWay: 0 })
  },
)
