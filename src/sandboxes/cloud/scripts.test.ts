import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { execScript, home } from './scripts.ts'

test('a command that starts after its time ran out is stopped all the same', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'ot-agent-scripts-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  // The command waits for a writer of its input, and times out before one comes.
  const input = join(dir, 'input')
  execFileSync('mkfifo', [input])
  const words = { id: 'c1', limitBytes: 1000, user: '', cwd: dir, forget: [] }
  const script = execScript({ ...words, timeoutSec: 0.05, input, argv: ['sleep', '50'] }).replaceAll(
    home,
    join(dir, 'home'),
  )
  const child = spawn('sh', ['-c', script], { stdio: ['ignore', 'ignore', 'pipe'] })
  const told = text(child.stderr)
  setTimeout(() => writeFileSync(input, ''), 400)
  const [code] = await once(child, 'exit')
  expect(code).toBe(0)
  expect(await told).toMatch(/\nc1 137 1 0$/)
})
