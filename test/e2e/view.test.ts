import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { spawnProcess } from '../../src/lib/spawn-process.ts'
import { tempDir } from '../trees.ts'

/** Starts the built program; `said` resolves once it wrote a whole line to stdout. */
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
