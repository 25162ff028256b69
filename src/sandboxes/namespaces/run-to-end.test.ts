import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

test('what was written is read, however busy this process is when the command ends', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'ot-run-'))
  const [go, written] = [join(dir, 'go'), join(dir, 'written')]
  execFileSync('mkfifo', [go, written])
  const child = spawn('sh', ['-c', '(read go < "$1"; echo late; echo > "$2") & exit 0', 'sh', go, written])
  child.once('exit', async () => {
    await setImmediate()
    // By now the drain time has begun; here it passes without any pipe being read, while the text arrives.
    execFileSync('sh', ['-c', 'echo > "$1"; read line < "$2"; sleep 0.2', 'sh', go, written])
  })
  expect(await runToEnd(child, {}, async () => {})).toMatchObject({ code: 0, stdout: 'late\n' })
  rmSync(dir, { recursive: true })
})
