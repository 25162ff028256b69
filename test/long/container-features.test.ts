import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import type { SandboxLease } from '../../src/core/sandbox.ts'
import type { Environment } from '../../src/core/task.ts'
import { inspectContainer } from '../../src/sandboxes/containers/container-state.ts'
import { findServer } from '../../src/sandboxes/containers/server.ts'
import docker from '../../src/sandboxes/docker.ts'
import podman from '../../src/sandboxes/podman.ts'
import { baseImage } from '../container-engine.ts'
import { everything, makeHoldProgram, onEachEngine } from '../container-kit.ts'
import { plainEnvironment } from '../contracts/environment.ts'
import { playTrial } from '../e2e/kit.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-features-'))
const stateDir = join(scratch, 'state')
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

let count = 0
/** A new environment with these files. */
function environment(files: Readonly<Record<string, string>>, changes: Partial<Environment> = {}): Environment {
  const dir = join(scratch, `environment-${++count}`)
  mkdirSync(dir, { recursive: true })
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  return plainEnvironment(dir, changes)
}
const fromBase = (...lines: string[]) => ({ Dockerfile: [`FROM ${baseImage}`, ...lines, ''].join('\n') })
const owner = { job: 'features', trial: 'one' }
const sh = async (box: SandboxLease, script: string) => (await box.exec(['sh', '-c', script])).stdout

/** Processes on this machine with such a command line. */
function runningLike(words: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').includes(words)
    } catch {
      return false
    }
  })
}

onEachEngine(stateDir, ({ name, started, makeProvider }) => {
  test('two processes that want the same image build it once', async () => {
    const program = await makeHoldProgram(scratch)
    const { dir } = environment(fromBase(`RUN sleep 2; echo ${name} > /made`))
    const line = [program, name, started().socket, baseImage, stateDir, dir, 'building']
    const both = await Promise.all([1, 2].map(() => promisify(execFile)(process.execPath, line)))
    const said = both.map(({ stdout }) => stdout).join('')
    expect(said.match(/^building /gm)).toHaveLength(1)
    expect(await makeProvider().isPrepared?.(plainEnvironment(dir))).toBe(true)
  })

  test('fifty tasks that share three environments cost three builds', async () => {
    const provider = makeProvider()
    const said: string[] = []
    const log = (text: string) => void said.push(text)
    await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        provider.prepare?.(environment(fromBase(`RUN echo ${name} ${i % 3} > /made`)), { log }),
      ),
    )
    expect(said.filter((line) => line.startsWith('building '))).toHaveLength(3)
  })

  test('a forced build builds again, once per run', async () => {
    const place = environment(fromBase('RUN head -c 16 /dev/urandom | od -An -tx1 > /made'))
    const made = async (forceBuild: boolean, provider = makeProvider()) => {
      await using box = await provider.lease({ owner, environment: place, forceBuild })
      return await sh(box, 'cat /made')
    }
    const first = await made(false)
    expect(await made(false)).toBe(first)
    const provider = makeProvider()
    const again = await made(true, provider)
    expect(again).not.toBe(first)
    expect(await made(true, provider)).toBe(again)
  })

  test('a build that takes too long ends, and says so', async () => {
    const place = environment(fromBase('RUN sleep 100'), { buildTimeoutSec: 1 })
    await expect(makeProvider().prepare?.(place)).rejects.toMatchObject({
      code: 'EnvironmentStartTimeoutError',
      message: 'the image was not built within 1 s',
    })
  })

  test('a Dockerfile that fails is the task’s failure, with what it printed', async () => {
    const place = environment(fromBase('RUN echo so it is; exit 3'))
    const error = await makeProvider()
      .prepare?.(place)
      .catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'EnvironmentBuildError', boundary: 'task' })
    expect(String(error)).toContain('so it is')
  })

  test('an image’s health check is known, and its entrypoint runs alongside the agent', async () => {
    const place = environment(
      fromBase(
        'RUN printf "#!/bin/sh\\necho $$ > /began\\nexec \\"\\$@\\"\\n" > /entry && chmod +x /entry',
        'HEALTHCHECK --interval=2s --retries=7 CMD test -e /began',
        'ENTRYPOINT ["/entry"]',
      ),
    )
    await using box = await makeProvider().lease({ owner, environment: place })
    expect(box.healthcheck).toMatchObject({ command: 'test -e /began', intervalSec: 2, retries: 7 })
    await expect.poll(() => sh(box, 'cat /began')).toMatch(/^\d+\n$/)
    expect(box.facts.notes.join()).toContain('ENTRYPOINT')
  })

  test('volumes that an image declares go along when the sandbox is frozen', async () => {
    const place = environment(
      fromBase(
        'RUN mkdir /data /tests && echo image > /data/old && echo image > /tests/x',
        'VOLUME /data',
        'VOLUME /tests',
      ),
    )
    const box = await makeProvider().lease({ owner, environment: place })
    expect(await sh(box, 'cat /data/old; echo new > /data/new; echo forged > /tests/forged')).toBe('image\n')
    await box.freeze()
    await box.freeze()
    expect(await sh(box, 'cat /data/old /data/new; ls -A /tests')).toBe('image\nnew\n')
    await box[Symbol.asyncDispose]()
    expect(await everything(started())).toEqual([])
  })

  test('tool directories exist and are read-only, before and after a freeze', async () => {
    const source = join(scratch, `tools-${name}`)
    mkdirSync(source)
    writeFileSync(join(source, 'tool'), 'sharp')
    const toolDirs = [{ source, target: '/ot-agent-tools' }]
    await using box = await makeProvider().lease({ owner, environment: environment({}), toolDirs })
    const look = 'cat /ot-agent-tools/tool; echo x > /ot-agent-tools/y || echo no'
    expect(await sh(box, `${look} 2>/dev/null`)).toBe('sharpno\n')
    await box.freeze()
    expect(await sh(box, `${look} 2>/dev/null`)).toBe('sharpno\n')
  })

  test('a separate verification sees the declared artifacts in a second container, and nothing else', async () => {
    const { record } = await playTrial({
      provider: makeProvider(),
      task: {
        toml: 'schema_version = "1.3"\nartifacts = ["/answer"]\n[verifier]\nenvironment_mode = "separate"\n[environment]\nnetwork_mode = "no-network"\n',
        test: '[ "$(cat /answer)" = 42 ] && [ ! -e /secret ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt',
      },
    })
    expect(record.end).toMatchObject({ kind: 'scored', rewards: { reward: 1 } })
    expect(record.isolation).toBe('separate')
    expect(await everything(started())).toEqual([])
  })

  test('clean of the command line removes what a killed process left, wherever the engine’s socket is named', async () => {
    const program = await makeHoldProgram(scratch)
    const { dir } = environment({})
    const { socket } = started()
    const cache = join(scratch, 'cache')
    for (const how of ['option', 'variable']) {
      const line = [program, name, socket, baseImage, join(cache, 'ot-agent'), dir, 'running']
      const child = spawn(process.execPath, line)
      const exit = once(child, 'exit')
      await once(child.stdout, 'data')
      const variable = name === 'podman' ? 'CONTAINER_HOST' : 'DOCKER_HOST'
      const clean = async (...more: string[]) => {
        const named = how === 'option' ? ['--ek', `socket=${socket}`] : []
        const variables = how === 'variable' ? { [variable]: `unix://${socket}` } : {}
        const env = { ...process.env, XDG_CACHE_HOME: cache, ...variables }
        const line = [resolve('bin/ot-agent.js'), 'clean', '-e', name, '--json', ...named, ...more]
        return JSON.parse((await promisify(execFile)(process.execPath, line, { env })).stdout)
      }
      expect(await clean()).toEqual({
        dryRun: false,
        reaped: [],
        leftovers: [],
        servers: [],
        left: [],
        leftoversLeft: [],
        bytes: 0,
      })
      child.kill('SIGKILL')
      await exit
      const found = await clean('--dry-run')
      expect(found.reaped).toEqual([expect.objectContaining({ owner: { job: 'leak', trial: 'running' } })])
      expect((await clean()).reaped).toEqual(found.reaped)
      expect(await everything(started())).toEqual([])
    }
  })

  test('clean leaves what merely carries our labels, and what belongs to another state directory', async () => {
    const program = await makeHoldProgram(scratch)
    const { dir } = environment({})
    const { socket, engine } = started()
    const child = spawn(process.execPath, [program, name, socket, baseImage, stateDir, dir, 'running'])
    const exit = once(child, 'exit')
    await once(child.stdout, 'data')
    child.kill('SIGKILL')
    await exit
    const ask = async (method: 'GET' | 'POST' | 'DELETE', path: string, query = {}, json: unknown = undefined) =>
      (await engine.ask({ method, path, query, ...(json !== undefined && { json }) })).body
    const [theirs] = (await ask('GET', '/containers/json', { all: true })) as { Id: string; Labels: object }[]
    const Labels = theirs?.Labels
    const container = (name: string, Labels: unknown) =>
      ask('POST', '/containers/create', { name }, { Image: baseImage, Cmd: ['true'], Labels })
    await container('keepsake', Labels)
    await container('similar', { 'ot-agent.sandbox': 'yes', 'ot-agent.sandboxes': 'all', 'my.ot-agent.sandbox': '1' })
    await ask('POST', '/volumes/create', {}, { Name: 'keepsake-data', Labels })
    await ask('POST', '/networks/create', {}, { Name: 'keepsake-net', Labels })
    await ask('POST', '/commit', { container: theirs?.Id, repo: 'mine/kept', tag: '1', pause: false }, {})
    const before = await everything(started())
    const plugin = name === 'docker' ? docker : podman
    const elsewhere = plugin.make(plugin.options.parse({ socket }), { env: {}, stateDir: join(scratch, 'elsewhere') })
    expect(await elsewhere.reap()).toEqual([])
    expect(await everything(started())).toEqual(before)
    const reaped = await makeProvider().reap()
    expect(reaped.map(({ what }) => what.split(' ')[0])).toEqual(['container'])
    const kept = (await everything(started())).join()
    for (const name of ['keepsake"', 'similar', 'keepsake-data', 'keepsake-net', 'mine/kept:1'])
      expect(kept).toContain(name)
    for (const name of ['keepsake', 'similar']) await ask('DELETE', `/containers/${name}`, { force: true })
    await ask('DELETE', '/images/mine/kept:1')
    await ask('DELETE', '/volumes/keepsake-data')
    await ask('DELETE', '/networks/keepsake-net')
    expect(await everything(started())).toEqual([])
  })

  test('doctor tells the engine’s version, and what is refused because of it', async () => {
    const variable = name === 'podman' ? 'CONTAINER_HOST' : 'DOCKER_HOST'
    const env = { ...process.env, [variable]: `unix://${started().socket}` }
    const line = [resolve('bin/ot-agent.js'), 'doctor', '--json']
    const { stdout } = await promisify(execFile)(process.execPath, line, { env })
    const { findings } = JSON.parse(stdout) as { findings: { name: string; what: string }[] }
    const said = findings.find((finding) => finding.name === `sandbox/${name}`)?.what
    const { name: version, refused } = await findServer(started().engine)
    expect(version).toMatch(name === 'podman' ? /^podman \d.* with Buildah \d/ : /^docker \d/)
    expect(said).toContain([version, ...refused.map((what) => `refuses ${what}`)].join('; '))
  })

  test('a build has limits on memory and time, and drops what sandboxes drop', async () => {
    const limit = 'cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null'
    const place = environment(fromBase(`RUN ${limit} > /limit; grep CapBnd /proc/self/status | cut -f2 > /bound`))
    await using box = await makeProvider().lease({ owner, environment: place })
    expect(await sh(box, 'cat /limit')).toBe(`${4096 * 2 ** 20}\n`)
    // Docker's builder has no option to drop capabilities.
    if (name === 'podman')
      expect(BigInt(`0x${(await sh(box, 'cat /bound')).trim()}`) & ((1n << 13n) | (1n << 27n))).toBe(0n)
    // Podman's builder lets a RUN continue after its build was abandoned.
    if (name === 'podman') return
    const slow = environment(fromBase('RUN sleep 7655'), { buildTimeoutSec: 3 })
    await expect(makeProvider().prepare?.(slow)).rejects.toMatchObject({ code: 'EnvironmentStartTimeoutError' })
    await expect.poll(() => runningLike('sleep 7655')).toEqual([])
  })

  test('an image that cannot be had is named, with a way out, in two lines', async () => {
    const place = environment({}, { dockerImage: 'registry.invalid/nobody/nothing:1' })
    const error = await makeProvider({ base: undefined })
      .lease({ owner, environment: place })
      .catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'ImagePullError', boundary: 'sandbox' })
    const { message } = error as Error
    expect(message.split('\n').length, message).toBeLessThanOrEqual(2)
    expect(message).toContain('registry.invalid/nobody/nothing:1')
    expect(message).toContain('option base')
  })

  test('a container that exits is restarted with its files: commands, files, terminals and freezes keep working', async () => {
    const said: string[] = []
    const log = (line: string) => void said.push(line)
    const box = await makeProvider().lease({ owner, environment: environment({}), log })
    // From outside, because no program in the base image can trace process 1.
    const end = async (generation: number) => {
      const look = async () => (await inspectContainer(started().engine, `${box.id}-${generation}`))?.pid ?? 0
      let pid = 0
      const isUp = async () => {
        pid = await look()
        return pid > 1 && existsSync(`/proc/${pid}`)
      }
      await expect.poll(isUp).toBe(true)
      process.kill(pid, 'SIGKILL')
      // The engine notices a moment later.
      await expect.poll(look).not.toBe(pid)
    }
    const running = box.exec(['sh', '-c', 'echo kept > /kept; sleep 765'])
    await expect.poll(() => sh(box, 'cat /kept')).toBe('kept\n')
    await end(0)
    expect((await running).exitCode).toBe(137)
    expect(await sh(box, 'cat /kept')).toBe('kept\n')
    expect(said.join()).toContain('started again')
    await end(0)
    expect(await box.alive()).toBe(true)
    await end(0)
    const terminal = await box.openTerminal({ argv: ['sh', '-c', 'exit 5'] })
    expect(await terminal.exited).toBe(5)
    await end(0)
    expect(Buffer.from(await box.read('/kept')).toString()).toBe('kept\n')
    await box.freeze()
    await end(1)
    expect(await sh(box, 'cat /kept')).toBe('kept\n')
    await started().engine.ask({ method: 'DELETE', path: `/containers/${box.id}-1`, query: { force: true } })
    await expect(box.exec(['true'])).rejects.toMatchObject({ code: 'SandboxGoneError', boundary: 'sandbox' })
    expect(await box.alive()).toBe(false)
    await box[Symbol.asyncDispose]()
    expect(await everything(started())).toEqual([])
  })

  test('a text that is no name of an image is refused before the engine hears of it', async () => {
    const names = [
      'debian?x=1',
      '../containers/json?all=1',
      'a#b',
      'a%2e%2e/b',
      'a/../b',
      '-x',
      'a b',
      'a//b',
      `a${'\n'}b`,
    ]
    for (const dockerImage of [...names, 'x'.repeat(600)])
      await expect(
        makeProvider().lease({ owner, environment: environment({}, { dockerImage }) }),
        dockerImage,
      ).rejects.toMatchObject({ code: 'ImageNameError', boundary: 'task', retryable: false })
    expect(() => makeProvider({ base: 'debian?x' })).toThrow('expected the name of an image')
  })

  test('no program gains rights by its set-user-id bit, makes device files or sends raw packets', async () => {
    await using box = await makeProvider().lease({ owner, environment: environment({}) })
    const look = 'grep NoNewPrivs /proc/self/status | tr -cd 01; grep CapBnd /proc/self/status | cut -f2'
    for (const when of ['at first', 'after a freeze']) {
      const [flag = '', bound = ''] = (await sh(box, look)).replace(/^(.)/, '$1 ').trim().split(/\s+/)
      expect(flag, when).toBe('1')
      // NET_RAW is bit 13, MKNOD bit 27.
      expect(BigInt(`0x${bound}`) & ((1n << 13n) | (1n << 27n)), when).toBe(0n)
      expect(await sh(box, 'chown 5:5 /tmp && setpriv --reuid 65534 --clear-groups id -u'), when).toBe('65534\n')
      await box.freeze()
    }
  })

  test('limits that the engine cannot set are reported, not claimed', async () => {
    await using box = await makeProvider().lease({ owner, environment: environment({}, { storageMb: 10 }) })
    const { storage } = box.facts.limits
    const written = await sh(box, 'head -c 30000000 /dev/zero > /tmp/big; wc -c < /tmp/big')
    expect(Number(written) < 30_000_000).toBe(storage)
    expect(box.facts.notes.join().includes('storage')).toBe(!storage)
  })

  test('a public network is available on request, and is added and removed at run time where the engine can', async () => {
    const { engine } = started()
    const network = `ot-outside-${process.pid}`
    await engine.ask({ method: 'POST', path: '/networks/create', json: { Name: network } })
    const provider = makeProvider({ network })
    const links = (box: SandboxLease) =>
      sh(box, 'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " " | grep -v "^lo$" | wc -l')
    const box = await provider.lease({ owner, environment: environment({}, { network: { mode: 'public' } }) })
    expect(await links(box)).toBe('1\n')
    expect(provider.can.networkPerPhase).toBe(name === 'docker')
    if (provider.can.networkPerPhase) {
      await box.setNetwork({ mode: 'no-network' })
      expect(await links(box)).toBe('0\n')
      await box.freeze()
      expect(await links(box)).toBe('0\n')
      await box.setNetwork({ mode: 'public' })
      expect(await links(box)).toBe('1\n')
    }
    await box[Symbol.asyncDispose]()
    await engine.ask({ method: 'DELETE', path: `/networks/${network}` })
    expect(await everything(started())).toEqual([])
  })
})
