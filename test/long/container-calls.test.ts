import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import { sleep } from '../../src/lib/deadline.ts'
import { ContainerEngine } from '../../src/sandboxes/containers/container-engine.ts'
import { baseImage } from '../container-engine.ts'
import { everything, onEachEngine } from '../container-kit.ts'
import { plainEnvironment } from '../contracts/environment.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-container-calls-'))
const stateDir = join(scratch, 'state')
afterAll(() => rmSync(scratch, { recursive: true, force: true }))
const owner = { job: 'calls', trial: 'one' }
const environment = plainEnvironment(scratch)

/** Engine requests that a trial avoids. */
onEachEngine(stateDir, ({ name, started, makeProvider }) => {
  test('a small tree arrives right under the root as it is: bytes, modes and links', async () => {
    const source = mkdtempSync(join(scratch, 'small-'))
    mkdirSync(join(source, 'closed'), { recursive: true })
    writeFileSync(
      join(source, 'bytes'),
      Uint8Array.from({ length: 256 }, (_, byte) => byte),
    )
    writeFileSync(join(source, 'closed/run it.sh'), 'echo "it\'s 100%"\n')
    chmodSync(join(source, 'closed/run it.sh'), 0o755)
    chmodSync(join(source, 'closed'), 0o750)
    symlinkSync('bytes', join(source, 'link'))
    await using box = await makeProvider().lease({ owner, environment })
    await box.uploadDir(source, '/small')
    // In the second round the files already exist.
    for (let round = 0; round < 2; round++) {
      const seen = await box.exec(
        ['sh', '-c', 'stat -c "%a %u %n" bytes closed closed/*; readlink link; sh closed/run*'],
        { cwd: '/small' },
      )
      expect(seen.stdout).toBe("644 0 bytes\n750 0 closed\n755 0 closed/run it.sh\nbytes\nit's 100%\n")
      expect(
        Buffer.from(await box.read('/small/bytes')).equals(Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))),
      ).toBe(true)
      await box.uploadDir(source, '/small')
    }
  })

  test('a sandbox that is released while its old container is being removed leaves nothing', async () => {
    const before = await everything(started())
    const provider = makeProvider()
    for (let round = 0; round < 3; round++) {
      const box = await provider.lease({ owner, environment })
      await box.freeze({ system: 'image' })
      await box[Symbol.asyncDispose]()
      expect(await everything(started())).toEqual(before)
    }
  })

  test('logs are copied out without an archive from the engine, unless a link is in the way', async () => {
    await using box = await makeProvider().lease({ owner, environment })
    const archive = vi.spyOn(ContainerEngine.prototype, 'archive')
    try {
      await box.exec(['sh', '-c', 'echo before > /logs/agent/said; ln -s /etc /logs/agent/out'])
      await box.freeze({ system: 'image' })
      await box.exec(['sh', '-c', 'echo 1 > /logs/verifier/reward.txt'])
      const read = async (source: string) => {
        const target = mkdtempSync(join(scratch, 'home-'))
        await box.downloadDir(source, target)
        return Object.fromEntries(readdirSync(target).map((name) => [name, readFileSync(join(target, name), 'utf8')]))
      }
      expect(await read('/logs/agent')).toEqual({ said: 'before\n' })
      expect(await read('/logs/verifier')).toEqual({ 'reward.txt': '1\n' })
      expect(archive).not.toHaveBeenCalled()
      await box.exec([
        'sh',
        '-c',
        'mkdir /etc/own; echo inside > /etc/own/said; rm -r /logs/agent; ln -s /etc/own /logs/agent',
      ])
      expect(await read('/logs/agent')).toEqual({ said: 'inside\n' })
      expect(archive).toHaveBeenCalledOnce()
    } finally {
      archive.mockRestore()
    }
  })

  test('tests get empty directories without volumes, and the engine is not asked whether the sandbox lives', async () => {
    await using box = await makeProvider().lease({ owner, environment })
    await box.exec(['sh', '-c', 'mkdir -p /tests/own; echo 1 > /logs/verifier/reward.txt; echo kept > /kept'])
    const ask = vi.spyOn(ContainerEngine.prototype, 'ask')
    const paths = () => ask.mock.calls.map(([{ method, path }]) => `${method} ${path}`)
    try {
      await box.freeze({ system: 'image' })
      expect((await box.exec(['sh', '-c', 'ls -A /tests /logs/verifier; cat /kept'])).stdout).toBe(
        '/logs/verifier:\n\n/tests:\nkept\n',
      )
      expect(paths().filter((path) => path.includes('volumes'))).toEqual([])
      // Podman has trouble with a container that exits by itself.
      expect(paths().some((path) => path.endsWith('/stop'))).toBe(name === 'podman')
      ask.mockClear()
      expect(await box.alive()).toBe(true)
      expect(paths()).toEqual([])
    } finally {
      ask.mockRestore()
    }
  })

  test.each([{ system: 'image' }, { system: 'agent' }] as const)(
    'an image whose logs are a link keeps what the agent logged and lets in no reward that it left behind the link, with %o',
    async (how) => {
      const dir = mkdtempSync(join(scratch, 'linked-'))
      writeFileSync(join(dir, 'Dockerfile'), `FROM ${baseImage}\nRUN mkdir -p /data/logs && ln -s /data/logs /logs\n`)
      await using box = await makeProvider().lease({ owner, environment: plainEnvironment(dir) })
      const work = 'echo 1 > /logs/verifier/reward.txt; echo said > /logs/agent/said; echo kept > /data/kept'
      await box.exec(['sh', '-c', work])
      await box.freeze(how)
      const { stdout } = await box.exec(['sh', '-c', 'ls -A /logs/verifier; cat /logs/agent/said /data/kept'])
      expect(stdout).toBe('said\nkept\n')
    },
  )

  test('a container whose shell is stopped by its agent is ended all the same', async () => {
    const before = await everything(started())
    const box = await makeProvider().lease({ owner, environment })
    const stopShell = '(sleep 0.3; kill -STOP $PPID) </dev/null >/dev/null 2>&1 & echo later > /kept'
    await box.exec(['sh', '-c', stopShell])
    await sleep(1000)
    const ask = vi.spyOn(ContainerEngine.prototype, 'ask')
    try {
      await box.freeze({ system: 'image' })
      expect(ask.mock.calls.some(([{ path }]) => path.endsWith('/stop'))).toBe(true)
    } finally {
      ask.mockRestore()
    }
    expect((await box.exec(['cat', '/kept'])).stdout).toBe('later\n')
    await box.exec(['sh', '-c', '(sleep 0.3; kill -STOP $PPID) </dev/null >/dev/null 2>&1 &'])
    await sleep(1000)
    expect(await box.alive()).toBe(true)
    await box[Symbol.asyncDispose]()
    expect(await everything(started())).toEqual(before)
  })

  test('a container that its agent ends at the last moment is over when the tests come, and its files are there', async () => {
    const before = await everything(started())
    for (const delay of [0, 0.1, 0.3]) {
      await using box = await makeProvider().lease({ owner, environment })
      const end = `(sleep ${delay}; echo exit 86 > /proc/$PPID/fd/0) </dev/null >/dev/null 2>&1 & echo later > /kept`
      await box.exec(['sh', '-c', end])
      await box.freeze({ system: 'image' })
      expect((await box.exec(['cat', '/kept'])).stdout).toBe('later\n')
      const { body } = await started().engine.ask({ method: 'GET', path: '/containers/json' })
      expect(body).toHaveLength(1)
    }
    expect(await everything(started())).toEqual(before)
  })

  test('the shell that a container was started with is as good as one that the engine opens', async () => {
    await using box = await makeProvider().lease({ owner, environment })
    const hijack = vi.spyOn(ContainerEngine.prototype, 'hijack')
    const run = async (script: string) => {
      const { exitCode, stdout } = await box.exec(['sh', '-c', script])
      return `${exitCode} ${stdout}`
    }
    try {
      // Signals that background shells ignore, characters that detach terminals, descriptors of process 1.
      expect(await run('kill -INT $$; echo alive')).toBe('130 ')
      expect(await run('printf "\u0010\u0011 through"')).toBe('0 \u0010\u0011 through')
      expect((await box.exec(['cat'], { stdin: '-n is no option' })).stdout).toBe('-n is no option')
      expect(await run('cd /proc/self/fd; echo [4-9]')).toBe('0 [4-9]\n')
      expect(await run('tr -d "\\000" < /proc/1/cmdline; echo so')).toMatch(/^0 .*so\n$/s)
      expect(hijack).not.toHaveBeenCalled()
      // A command that kills its shell gets a new one next time.
      expect(await run('kill -9 $PPID; sleep 1')).toBe('137 ')
      expect(await run('echo on')).toBe('0 on\n')
      expect(hijack).toHaveBeenCalled()
    } finally {
      hijack.mockRestore()
    }
  })

  // Process 1, the entrypoint itself, and the shell on the streams.
  const untilThree = 'n=0; until [ $n -gt 2 ]; do n=0; for p in /proc/[0-9]*; do n=$((n+1)); done; done'
  test.each([
    ['ends at once', 'exit 0'],
    ['kills the shell that commands go to', `${untilThree}; kill -9 -1`],
  ])('an entrypoint that %s keeps no command from running', async (title, script) => {
    const dir = join(scratch, `${name} ${title}`)
    mkdirSync(dir)
    writeFileSync(join(dir, 'entry'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    writeFileSync(join(dir, 'Dockerfile'), `FROM ${baseImage}\nCOPY entry /entry\nENTRYPOINT ["/entry"]\n`)
    for (let round = 0; round < 3; round++) {
      await using box = await makeProvider().lease({ owner, environment: plainEnvironment(dir) })
      const { exitCode, stdout } = await box.exec(['echo', 'here'])
      // On a busy machine the entrypoint may be late, and kill the command itself.
      const said = exitCode === 137 ? (await box.exec(['echo', 'here'])).stdout : stdout
      expect(said).toBe('here\n')
      await box.freeze({ system: 'image' })
      expect((await box.exec(['echo', 'there'])).stdout).toBe('there\n')
    }
  })
})
