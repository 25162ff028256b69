import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, utimesSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import type { CacheReport, SandboxLease } from '../../src/core/sandbox.ts'
import { loadTask } from '../../src/formats/harbor-task/load.ts'
import local from '../../src/sandboxes/local/index.ts'
import { writeTask } from '../fakes/tasks.ts'
import { scratch, withSandboxes } from './kit.ts'

const env = { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache') }
const stateDir = join(scratch, 'cache', 'ot-agent')
const layersDir = join(stateDir, 'local', 'layers')
mkdirSync(layersDir, { recursive: true })
const provider = local.make({ pids: 512, verify: 'fresh' }, { env: {}, stateDir })

withSandboxes('the cache of bases and layers', () => {
  test('keeps to its limit: what was not used for the longest time goes, what a living sandbox uses stays', async () => {
    const names = ['first', 'second', 'third']
    const layers: string[] = []
    for (const [nth, name] of names.entries()) {
      const before = layersNow()
      await runOnce(name)
      const [layer = ''] = layersNow().filter((made) => !before.includes(made))
      layers.push(layer)
      setLastUse(layer, 3 - nth)
    }
    const [first = '', second = '', third = ''] = layers
    const alive = await lease('first')
    try {
      const base = clean('--dry-run').entries.find(({ kind }) => kind === 'bases')
      // Room for two of the three layers, which are 8 MB each.
      const limit = `${Math.ceil(((base?.bytes ?? 0) + 18e6) / 1e6)}MB`
      const expected = { [first]: 'in use', [second]: 'removed', [third]: 'kept' }
      expect(statesOf(clean('--limit', limit, '--dry-run'))).toEqual(expected)
      expect(layersNow()).toEqual([...layers].sort())
      const pruned = clean('--limit', limit)
      expect(statesOf(pruned)).toEqual(expected)
      expect(pruned.bytes).toBeLessThanOrEqual(pruned.limitBytes)
      expect(layersNow()).toEqual([first, third].sort())

      const all = clean('--limit', '0KB')
      expect(statesOf(all)).toEqual({ [first]: 'in use', [third]: 'removed' })
      // The base, and for root the layers that hide its closed files.
      const bases = all.entries.filter(({ kind }) => kind === 'bases')
      expect(bases.length).toBeGreaterThan(0)
      expect(bases.filter(({ state }) => state !== 'in use')).toEqual([])
      expect(await sizeInside(alive)).toBe('4000000')
    } finally {
      await alive[Symbol.asyncDispose]()
    }
    const again = await lease('second')
    expect(await sizeInside(again)).toBe('4000000')
    await again[Symbol.asyncDispose]()
  })

  test('a build that makes it too large makes room by itself, but not of what it uses', async () => {
    await runOnce('fourth')
    const before = layersNow()
    await runOnce('fifth', '--ek', 'cacheLimitGb=0')
    const now = layersNow()
    const kept = before.filter((name) => now.includes(name))
    // This process has used the layers of two tasks.
    expect(before.length - kept.length).toBe(1)
    expect(now.length - kept.length).toBe(1)
  })

  test.each([
    [['--cache', '--limit', '5'], /--limit: expected a size/],
    [['--limit', '5GB'], /--limit: expected --cache/],
    [['--cache', '-e', 'docker'], /-e docker: expected a kind of sandbox/],
  ])('%j is refused in two lines', (words, message) => {
    const { status, stderr } = ot('clean', ...words)
    expect(status).toBe(2)
    expect(stderr).toMatch(message)
    expect(stderr).toMatch(/^error: .+\nhint: .+\n$/)
  })
})

async function taskOf(name: string): Promise<string> {
  const Dockerfile = `FROM debian\nRUN head -c 4000000 /dev/urandom > /${name} && cp /${name} /made\n`
  return writeTask(join(scratch, 'tasks'), name, { files: { 'environment/Dockerfile': Dockerfile } })
}

/** Runs a trial in a separate process, which has ended when this returns. */
async function runOnce(name: string, ...words: string[]): Promise<void> {
  const line = ['run', '-p', await taskOf(name), '-a', 'oracle', '-o', join(scratch, 'jobs'), '--job-name', name, '-q']
  const { status, stderr } = ot(...line, ...words)
  expect({ status, stderr }).toMatchObject({ status: 0 })
}

async function lease(name: string): Promise<SandboxLease> {
  const { environment } = await loadTask(await taskOf(name))
  return provider.lease({ environment, owner: { job: 'cache', trial: name } })
}

async function sizeInside(sandbox: SandboxLease): Promise<string> {
  const { stdout } = await sandbox.exec(['stat', '-c', '%s', '/made'])
  return String(stdout).trim()
}

function layersNow(): string[] {
  return readdirSync(layersDir)
    .filter((name) => !name.includes('.'))
    .sort()
}

function setLastUse(layer: string, hoursAgo: number): void {
  const time = new Date(Date.now() - hoursAgo * 3_600_000)
  utimesSync(join(stateDir, 'local', 'used', `layers-${layer}`), time, time)
}

function clean(...words: string[]): CacheReport {
  const { status, stdout, stderr } = ot('clean', '--cache', '--json', ...words)
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return JSON.parse(stdout)
}

function statesOf({ entries }: CacheReport): Record<string, string> {
  return Object.fromEntries(entries.flatMap(({ kind, name, state }) => (kind === 'layers' ? [[name, state]] : [])))
}

function ot(...words: string[]) {
  return spawnSync(process.execPath, [resolve('bin/ot-agent.js'), ...words], { env, encoding: 'utf8' })
}
