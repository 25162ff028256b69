import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { build } from 'esbuild'
import { expect, onTestFinished, test } from 'vitest'
import { makeTempDir, writeTree } from '../../../../test/make-task.ts'
import { needs } from '../../../../test/needs.ts'
import { signalGroup } from '../../../lib/spawn-process.ts'
import { packDirToBytes } from '../../../lib/tar.ts'
import { installTool } from './install-tool.ts'

const tiny = { npm: 'tiny-agent', version: '1.2.3' }

test('a package is installed once, readable by all, and none of its scripts runs', needs('npm', 'flock'), async () => {
  const registry = await startRegistry()
  const stateDir = await makeTempDir()
  const dir = await inRegistry(registry.url, () => installTool(stateDir, tiny, new AbortController().signal))
  expect(readFileSync(join(dir, 'node_modules/tiny-agent/cli.js'), 'utf8')).toBe('hello\n')
  expect(existsSync(join(dir, 'node_modules/tiny-agent/ran'))).toBe(false)
  expect(statSync(join(dir, 'node_modules/tiny-agent')).mode & 0o777).toBe(0o755)
  expect(await installTool(stateDir, tiny, new AbortController().signal)).toBe(dir)
  expect(registry.downloads()).toBe(1)
})

test('of two processes one installs while the other waits, and both find it whole', needs('npm', 'flock'), async () => {
  const registry = await startRegistry()
  const stateDir = await makeTempDir()
  const both = [await startInstaller(registry.url, stateDir), await startInstaller(registry.url, stateDir)]
  expect(await Promise.all(both.map(answerOf))).toEqual(['whole', 'whole'])
  expect(registry.downloads()).toBe(1)
})

test('what a killed installation left half-made is swept up by the next', needs('npm', 'flock'), async () => {
  const registry = await startRegistry()
  const stateDir = await makeTempDir()
  registry.stall()
  const killed = await startInstaller(registry.url, stateDir)
  await registry.asked()
  expect(halves(stateDir)).toHaveLength(1)
  const group = await childOf(killed)
  killed.kill('SIGKILL')
  expect(signalGroup(group, 'SIGKILL')).toBe(true)
  await once(killed, 'exit')
  expect(halves(stateDir)).toHaveLength(1)
  registry.goOn()
  expect(await answerOf(await startInstaller(registry.url, stateDir))).toBe('whole')
  expect(halves(stateDir)).toEqual([])
})

test('a package that is not there, and an abort, leave nothing', needs('npm', 'flock'), async () => {
  const registry = await startRegistry()
  const stateDir = await makeTempDir()
  const missing = { npm: 'no-such-agent', version: '1.0.0' }
  await inRegistry(registry.url, async () => {
    const failed = installTool(stateDir, missing, new AbortController().signal)
    await expect(failed).rejects.toMatchObject({ boundary: 'agent', code: 'AgentSetupError' })
    await expect(failed).rejects.toThrow(/^cannot install no-such-agent@1\.0\.0: .*404/s)
    registry.stall()
    const stop = new AbortController()
    const stopped = installTool(stateDir, tiny, stop.signal)
    await registry.asked()
    stop.abort()
    await expect(stopped).rejects.toMatchObject({ name: 'AbortError' })
  })
  expect(halves(stateDir)).toEqual([])
  expect(readdirSync(join(stateDir, 'tools')).filter((name) => !name.startsWith('.'))).toEqual([])
})

function halves(stateDir: string): string[] {
  return readdirSync(join(stateDir, 'tools')).filter((name) => name.endsWith('.tmp'))
}

/** A registry with one package whose download can be delayed. */
async function startRegistry() {
  const dir = await makeTempDir()
  const scripts = { postinstall: 'touch ran' }
  const manifest = { name: 'tiny-agent', version: '1.2.3', bin: { tiny: 'cli.js' }, scripts }
  await writeTree(dir, { 'package/package.json': JSON.stringify(manifest), 'package/cli.js': 'hello\n' })
  const tarball = await packDirToBytes(dir)
  let downloads = 0
  let stalled = false
  let heard = () => {}
  const asked = new Promise<void>((resolve) => {
    heard = resolve
  })
  const server = createServer((request, response) => {
    if (request.url === '/tiny-agent') {
      const dist = { tarball: `${url}/tiny.tgz` }
      return void response.end(
        JSON.stringify({
          name: 'tiny-agent',
          'dist-tags': { latest: '1.2.3' },
          versions: { '1.2.3': { ...manifest, dist } },
        }),
      )
    }
    if (request.url !== '/tiny.tgz') return void response.writeHead(404).end('{"error":"not found"}')
    heard()
    if (stalled) return
    downloads++
    response.end(tarball)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url,
    downloads: () => downloads,
    asked: () => asked,
    stall: () => {
      stalled = true
    },
    goOn: () => {
      stalled = false
    },
  }
}

async function inRegistry<T>(url: string, work: () => Promise<T>): Promise<T> {
  const changed = await settingsOf(url)
  const before = Object.keys(changed).map((name) => [name, process.env[name]] as const)
  Object.assign(process.env, changed)
  try {
    return await work()
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) Reflect.deleteProperty(process.env, name)
      else process.env[name] = value
    }
  }
}

async function settingsOf(url: string) {
  return { npm_config_registry: url, npm_config_cache: await makeTempDir(), npm_config_fetch_retries: '0' }
}

/** The child process of another process. */
async function childOf({ pid }: ChildProcess): Promise<number> {
  for (;;) {
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
    if (child) return Number(child)
    await sleep(20)
  }
}

/** Another process that installs the same. */
async function startInstaller(url: string, stateDir: string): Promise<ChildProcess> {
  const outfile = join(await makeTempDir(), 'installer.mjs')
  const contents = `import { existsSync } from 'node:fs'
    import { installTool } from './install-tool.ts'
    const dir = await installTool(process.argv[2], ${JSON.stringify(tiny)}, new AbortController().signal)
    process.send(existsSync(dir + '/node_modules/tiny-agent/cli.js') ? 'whole' : 'half')
    process.disconnect()`
  await build({
    stdin: { contents, resolveDir: import.meta.dirname, loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
  })
  const child = fork(outfile, [stateDir], { env: { ...process.env, ...(await settingsOf(url)) } })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const answer = once(child, 'message').then(([message]) => message)
  return Promise.race([answer, once(child, 'exit').then(([code]) => `exit ${code}`)])
}
