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
  child.stderr.resume()
  return { child, ended, said }
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
