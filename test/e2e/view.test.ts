import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { spawnProcess } from '../../src/lib/spawn-process.ts'
import { tempDir } from '../trees.ts'

/** Starts the built program; `said` resolves once it has written a complete line to stdout. */
async function start(args: readonly string[], cache: string) {
  const env = { ...process.env, XDG_CACHE_HOME: cache, DISPLAY: '', WAYLAND_DISPLAY: '' }
  const child = await spawnProcess(process.execPath, ['bin/ot-agent.js', 'view', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  let text = ''
  const said = new Promise<string>((resolve) => {
    child.stdout.on('data', (bytes: Buffer) => {
      text += bytes.toString()
      if (text.includes('\n')) resolve(text)
    })
    child.once('exit', () => resolve(text))
  })
  let trouble = ''
  child.stderr.on('data', (bytes: Buffer) => {
    trouble += bytes.toString()
  })
  return { child, ended, said, trouble: () => trouble }
}

test('view prints its address, a second view of the same paths finds it, and Ctrl-C leaves nothing', async () => {
  const dir = await tempDir()
  const [jobs, cache] = [join(dir, 'jobs'), join(dir, 'cache')]
  mkdirSync(jobs)
  cpSync('test/fixtures/harbor-job/made-by-harbor', join(jobs, 'harbor'), { recursive: true })
  const first = await start([jobs], cache)
  const address = await first.said
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\n$/)
  expect((await fetch(address.trim())).headers.get('content-type')).toContain('text/html')
  const second = await start([jobs], cache)
  expect([await second.said, await second.ended]).toEqual([address, 0])
  const notes = join(cache, 'ot-agent', 'views')
  expect(readFileSync(join(notes, readdirSync(notes)[0]!), 'utf8')).toContain('"token":null')
  first.child.kill('SIGINT')
  expect(await first.ended).toBe(0)
  expect(readdirSync(notes)).toEqual([])
})

/** What a viewer on a terminal passes to the desktop's opener, or null if the opener is not called in time. */
async function openedBy(
  env: Readonly<Record<string, string>>,
  sec = 1,
): Promise<{ opened: string | null; shown: string }> {
  const dir = await tempDir()
  const [jobs, bin, seen] = [join(dir, 'jobs'), join(dir, 'bin'), join(dir, 'seen')]
  mkdirSync(jobs)
  mkdirSync(bin)
  writeFileSync(join(bin, 'xdg-open'), `#!/bin/sh\nprintf %s "$1" > ${seen}.part && mv ${seen}.part ${seen}\n`, {
    mode: 0o755,
  })
  const { spawn } = createRequire(import.meta.url)('@lydell/node-pty') as typeof import('@lydell/node-pty')
  const { DISPLAY: _, WAYLAND_DISPLAY: __, SSH_CONNECTION: ___, ...others } = process.env
  const pty = spawn(process.execPath, ['bin/ot-agent.js', 'view', jobs], {
    cols: 200,
    env: { ...others, XDG_CACHE_HOME: join(dir, 'cache'), PATH: `${bin}:${process.env.PATH}`, ...env },
  })
  const ended = new Promise((resolve) => pty.onExit(resolve))
  let shown = ''
  pty.onData((chunk) => {
    shown += chunk
  })
  while (!shown.includes('\n')) await sleep(20)
  for (let i = 0; i < sec * 50 && !existsSync(seen); i++) await sleep(20)
  pty.kill('SIGINT')
  await ended
  return { opened: existsSync(seen) ? readFileSync(seen, 'utf8') : null, shown }
}

test('the address is opened where there is a desktop, and not for a session over the network', async () => {
  const desktop = await openedBy({ DISPLAY: ':0' }, 50)
  expect(desktop.opened).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/)
  expect(desktop.shown).toContain(desktop.opened)
  expect((await openedBy({ DISPLAY: ':0', SSH_CONNECTION: '127.0.0.1 1 127.0.0.1 22' })).opened).toBeNull()
  expect((await openedBy({})).opened).toBeNull()
})

test('a viewer that may start runs has a key, is another one than that without, and stays on this machine', async () => {
  const dir = await tempDir()
  const [jobs, cache] = [join(dir, 'jobs'), join(dir, 'cache')]
  mkdirSync(jobs)
  const [plain, allowed] = await Promise.all([start([jobs], cache), start([jobs, '--allow-runs'], cache)])
  const [readOnly, address] = [await plain.said, await allowed.said]
  expect(readOnly).not.toContain('key')
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#\/\?key=[\w-]{32}\n$/)
  const second = await start([jobs, '--allow-runs'], cache)
  expect([await second.said, await second.ended]).toEqual([address, 0])
  for (const { child } of [plain, allowed]) child.kill('SIGINT')
  expect([await plain.ended, await allowed.ended]).toEqual([0, 0])
  const refused = await Promise.all(
    [
      ['--host', '0.0.0.0'],
      ['--export', join(dir, 'site')],
    ].map((more) => start([jobs, '--allow-runs', ...more], cache)),
  )
  for (const { ended, trouble } of refused) {
    expect(await ended).toBe(2)
    expect(trouble()).toMatch(/^error: --allow-runs: expected [^\n]+\nhint: [^\n]+\n$/)
  }
})
