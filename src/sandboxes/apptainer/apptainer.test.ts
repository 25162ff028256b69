import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { plainEnvironment } from '../../../test/contracts/environment.ts'
import { execArgs, insideArgv, startArgs, stopArgs } from './commands.ts'
import { imageOfDockerfile, parseSource } from './image.ts'
import apptainer from './index.ts'

const roots: string[] = []
afterAll(() => Promise.all(roots.map((root) => rm(root, { recursive: true, force: true }))))

const request = {
  name: 'box-0',
  image: '/images/a.sif',
  overlays: ['/state/overlay'],
  binds: [
    { source: '/state/logs', target: '/logs' },
    { source: '/tools', target: '/ot-agent-tools', readOnly: true },
  ],
  network: 'none' as const,
  privileges: { isRoot: false, seccompFile: '/state/seccomp.json' },
  pidFile: '/state/pid',
  limits: {},
}

describe('command lines', () => {
  test('an instance sees nothing of the host, writes to its overlay and has no network', () => {
    expect(startArgs(request).join(' ')).toBe(
      'instance start --containall --no-home --cleanenv --no-eval --no-umask ' +
        '--no-mount hostfs,bind-paths,cwd,home,tmp,sys --hostname sandbox --net --network none --overlay /state/overlay ' +
        '--bind /state/logs:/logs --bind /tools:/ot-agent-tools:ro --fakeroot --security seccomp:/state/seccomp.json --pid-file /state/pid /images/a.sif box-0',
    )
  })

  test('a scratch directory takes the writes, over an overlay that cannot be written to', () => {
    const args = startArgs({ ...request, overlays: ['/state/overlay', '/state/scratch'] }).join(' ')
    expect(args).toContain('--overlay /state/overlay:ro --overlay /state/scratch --bind')
  })

  test('root of this machine is restricted, and a public network is the host’s', () => {
    const args = startArgs({ ...request, network: 'host', privileges: { ...request.privileges, isRoot: true } })
    expect(args).toEqual(
      expect.arrayContaining(['--no-privs', '--add-caps', '--security', 'seccomp:/state/seccomp.json']),
    )
    expect(args.join(' ')).not.toMatch(/SYS_ADMIN|SYS_PTRACE|NET_RAW|--fakeroot|--net/)
  })

  test('requested limits become flags', () => {
    const args = startArgs({ ...request, limits: { cpus: 2, memoryMb: 512, pids: 100 } }).join(' ')
    expect(args).toContain('--cpus 2 --memory 512M --pids-limit 100')
  })

  test('a command runs in its instance, and an instance is stopped by force', () => {
    expect(execArgs('box-0', request.privileges, ['true'])).toEqual([
      'exec',
      '--cleanenv',
      '--no-eval',
      '--security',
      'seccomp:/state/seccomp.json',
      'instance://box-0',
      'true',
    ])
    expect(stopArgs('box-0').join(' ')).toBe('instance stop --signal KILL box-0')
  })

  test('words of a command stay words, and only what Apptainer added itself is taken away', () => {
    const words = ['echo', '$HOME', 'a b', "it's"]
    const argv = insideArgv(words, { cwd: '/a dir', user: 'nobody', variables: ['PS1'] })
    expect(argv.slice(-6)).toEqual(['nobody', '/a dir', ...words])
    expect(argv[2]).toMatch(/^unset .*LD_LIBRARY_PATH/)
    expect(argv[2]).not.toMatch(/\bPS1\b/)
  })
})

describe('images', () => {
  test.each([
    ['debian:12', { registry: 'debian:12' }],
    ['docker://ghcr.io/a/b@sha256:0', { registry: 'ghcr.io/a/b@sha256:0' }],
    ['debian:12@sha256:0', { registry: 'debian@sha256:0' }],
    ['/images/a.sif', { path: '/images/a.sif' }],
    ['a.sif', { path: 'a.sif' }],
    ['/a/root', { path: '/a/root' }],
  ])('%s is found', (image, source) => expect(parseSource(image)).toEqual(source))

  test('a Dockerfile that only names an image and its settings needs no build', () => {
    const image = imageOfDockerfile('FROM debian:12\nENV A=1\nWORKDIR /app\nUSER nobody\n')
    expect(image).toMatchObject({ source: { registry: 'debian:12' }, env: { A: '1' }, workdir: '/app', user: 'nobody' })
  })

  test.each(['FROM debian:12\nRUN true\n', 'FROM debian:12\nCOPY a /a\n', 'FROM debian:12 AS a\nFROM a\n'])(
    '%j is refused with what to do instead',
    (text) => {
      expect(() => imageOfDockerfile(text)).toThrow(/Dockerfile has to be built.*docker_image/)
    },
  )
})

describe('the provider, on a stand-in that records its calls', () => {
  let root: string
  let program: string
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'ot-apptainer-unit-'))
    roots.push(root)
    await mkdir(join(root, 'bin'))
    program = join(root, 'bin/apptainer')
    await copyFile('test/fakes/recording-apptainer.sh', program)
    await chmod(program, 0o755)
  })
  const make = (image?: string) =>
    apptainer.make({ program, image, pids: 64 }, { env: {}, stateDir: join(root, 'state') })
  const calls = async () => {
    const text = await readFile(join(root, 'bin/calls'), 'utf8').catch(() => '')
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split('\t').slice(0, -1))
  }
  const owner = { job: 'j', trial: 't' }
  const environment = () => plainEnvironment(join(root, 'environment'), { dockerImage: 'me/image:1' })

  test('a registry image is fetched once, however many want it, and is known afterwards', async () => {
    const provider = make()
    expect(await provider.isPrepared?.(environment())).toBe(false)
    await Promise.all([provider.prepare?.(environment()), provider.prepare?.(environment())])
    await provider.prepare?.(environment())
    expect(await provider.isPrepared?.(environment())).toBe(true)
    const builds = (await calls()).filter(([verb]) => verb === 'build')
    expect(builds).toHaveLength(1)
    expect(builds[0]?.at(-1)).toBe('docker://me/image:1')
    expect(await readdir(join(root, 'state/apptainer/images'))).toEqual([expect.stringMatching(/^me_image_1-.*\.sif$/)])
  })

  test('a sandbox starts from the image, freezes into another instance over the same files, and is gone when released', async () => {
    const provider = make()
    const lease = await provider.lease({ owner, environment: environment() })
    await symlink('/etc', join(root, 'state/apptainer/sandboxes', lease.id, 'overlay/upper/tests'))
    expect(await lease.freeze()).toMatchObject({ isolation: 'fresh' })
    const starts = (await calls()).filter(([verb, what]) => verb === 'instance' && what === 'start')
    expect(starts.map((words) => words.at(-1))).toEqual([`${lease.id}-0`, `${lease.id}-1`])
    expect(starts[0]?.at(-2)).toMatch(/me_image_1-.*\.sif$/)
    const overlays = starts.map((words) => words[words.indexOf('--overlay') + 1])
    expect(overlays[0]).toBe(overlays[1])
    expect(starts[0]?.join(' ')).not.toContain(':/tests')
    for (const bind of ['logs-1:/logs', 'tests-1:/tests']) expect(starts[1]?.join(' ')).toContain(bind)
    expect(await readdir(join(overlays[0] ?? '', 'upper'))).toEqual([])
    await lease[Symbol.asyncDispose]()
    expect(await readdir(join(root, 'state/apptainer/sandboxes'))).toEqual([])
    expect(await lease.alive()).toBe(false)
  })

  test('nothing is left when it is released while it freezes', async () => {
    const lease = await make().lease({ owner, environment: environment() })
    const before = (await calls()).length
    const freezing = lease.freeze().catch(() => {})
    while ((await calls()).length === before) await new Promise((resolve) => setTimeout(resolve, 1))
    await lease[Symbol.asyncDispose]()
    await freezing
    expect(await lease.alive()).toBe(false)
    expect(await readdir(join(root, 'state/apptainer/sandboxes'))).toEqual([])
    const started = (await readFile(join(root, 'bin/started'), 'utf8')).trim().split('\n').map(Number)
    expect(started).toHaveLength(2)
    // A dead process may still be a zombie until its parent reaps it.
    const states = started.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') Z'))
    expect(await Promise.all(states)).toEqual(started.map(() => expect.stringMatching(/\) [ZX]/)))
  })

  test('variables travel in the environment, never in an argument list', async () => {
    const provider = make()
    await using lease = await provider.lease({ owner, environment: environment(), env: { OF_JOB: 'job-secret' } })
    await lease.exec(['true'], { env: { SECRET: 'sk-secret' } })
    expect(await readFile(join(root, 'bin/calls'), 'utf8')).not.toMatch(/sk-secret|job-secret/)
    const env = await readFile(join(root, 'bin/env-of-last-call'), 'utf8')
    expect(env).toContain('APPTAINERENV_SECRET=sk-secret')
    expect(env).toContain('APPTAINERENV_OF_JOB=job-secret')
    expect(env).toContain(`APPTAINER_CONFIGDIR=${root}/state/apptainer/config`)
  })

  test('a dead owner’s leftovers are stopped and removed; a live owner’s things stay', async () => {
    const provider = make()
    await using lease = await provider.lease({ owner, environment: environment() })
    const dead = join(root, 'state/apptainer/sandboxes/0123456789ab-999999999-1')
    await mkdir(join(dead, 'overlay'), { recursive: true })
    await writeFile(join(dead, 'instance-name'), 'dead-one-3')
    expect(await provider.reap({ dryRun: true })).toHaveLength(1)
    expect(await provider.reap()).toHaveLength(1)
    expect((await calls()).at(-1)).toEqual(['instance', 'stop', '--signal', 'KILL', 'dead-one-3'])
    expect(await readdir(join(root, 'state/apptainer/sandboxes'))).toEqual([lease.id])
  })

  test('limits that the program may not set are left out, and any other complaint stands', async () => {
    const { Instance } = await import('./instance.ts')
    const complaining = (what: string) =>
      `#!/bin/sh\necho "$@" >> ${root}/tried\ncase "$*" in *--cpus*) echo "FATAL:   ${what}" >&2; exit 255;; esac\n`
    const start = async () => {
      const seccompFile = join(root, 'seccomp.json')
      const options = {
        name: 'n',
        dir: root,
        image: 'i',
        env: {},
        workdir: '/',
        user: undefined,
        group: null,
        tools: [],
      }
      const instance = new Instance({
        ...options,
        apptainer: { path: program, prefix: 'APPTAINER', configDir: root, isRoot: false, seccompFile },
        limits: { cpus: 1 },
        network: 'none',
      })
      await instance.start()
    }
    await writeFile(program, complaining('cannot use cgroups'))
    // The stand-in starts nothing, so the next step misses its pid.
    await expect(start()).rejects.toThrow(/pid/)
    await writeFile(program, complaining('no space left'))
    await expect(start()).rejects.toThrow('no space left')
    const tried = (await readFile(join(root, 'tried'), 'utf8')).trim().split('\n')
    expect(tried.map((line) => line.includes('--cpus'))).toEqual([true, false, true])
  })

  test('a task without an image is refused by name of the option that helps', async () => {
    const bare = plainEnvironment(join(root, 'environment'))
    await expect(make().lease({ owner, environment: bare })).rejects.toThrow(/--ek image=/)
    await expect(make('/not/there.sif').lease({ owner, environment: bare })).rejects.toThrow('/not/there.sif')
  })

  test('a machine without the program gets advice on what to install', async () => {
    const provider = apptainer.make({ program: 'no-such-apptainer', pids: 1 }, { env: {}, stateDir: root })
    await expect(provider.preflight()).rejects.toMatchObject({ name: 'UserError' })
  })
})
