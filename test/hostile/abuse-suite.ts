import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeTask } from '../fakes/tasks.ts'
import { type Attack, attacks, honest } from './attacks.ts'

/** A kind of sandbox that has to withstand the attacks. */
export interface AbusedKind {
  readonly name: string
  /** Its options, `key=value`, available once it runs. */
  readonly options?: () => readonly string[]
  /** The names of what is left of its sandboxes. */
  readonly left: (stateDir: string) => Promise<readonly string[]> | readonly string[]
  /** Attacks that make no sense for it, each with the reason. */
  readonly exceptions?: Readonly<Record<string, string>>
}

/**
 * What attacks use besides the programs of a test image: for example this machine's Python with its standard library.
 */
export function attackPrograms(): string[] {
  const isPython = (name: string) => /^python3\.\d+$/.test(name) && existsSync(`/usr/bin/${name}`)
  const python = readdirSync('/usr/lib').filter(isPython)
  return [
    ...['dash', 'git', 'mknod', 'nsenter', 'chattr', 'renice', 'ionice', 'chrt', 'perl'],
    ...(python.length > 0 ? ['/usr/bin/python3', ...python.map((name) => `/usr/lib/${name}`)] : []),
  ]
}

const settings = ['kernel/core_pattern', 'kernel/hostname', 'vm/swappiness', 'fs/file-max']

/** Runs every hostile task in one job next to honest ones, and checks its reward and what it did to this machine. */
export function abuseSuite({ name: kind, options = () => [], left, exceptions = {} }: AbusedKind): void {
  const scratch = mkdtempSync(join(tmpdir(), 'ot-abuse-'))
  const secret = `OT_ABUSE_SECRET_VALUE-${process.pid}`
  const abstract = `ot-abuse-${process.pid}`
  const servers: Server[] = []
  let calls = 0
  const jobs = join(scratch, 'jobs')
  const cache = join(scratch, 'cache')
  const bystander = spawn('sleep', ['3600'], { stdio: 'ignore' })
  const hostile = Object.fromEntries(Object.entries(attacks).filter(([name]) => !Object.hasOwn(exceptions, name)))

  beforeAll(async () => {
    for (const address of [{ host: '127.0.0.1', port: 0 }, { path: `\0${abstract}` }]) {
      const server = createServer((socket) => {
        calls += 1
        socket.destroy()
      })
      servers.push(server)
      await new Promise<void>((done) => server.listen(address, done))
    }
  })
  afterAll(() => {
    for (const server of servers) server.close()
    bystander.kill('SIGKILL')
    rmSync(scratch, { recursive: true, force: true })
  })

  for (const [name, reason] of Object.entries(exceptions)) test.skip(`${name} (skipped: ${reason})`, () => {})

  test('none is paid, none escapes, and honest ones beside them are paid', async () => {
    const before = hostState()
    const tasks = join(scratch, 'tasks')
    for (const [name, attack] of Object.entries({ ...hostile, ...honest })) await write(tasks, name, attack)
    const ran = await ot('run', '-p', tasks, '-a', 'oracle', '-n', '4', '-o', jobs, '--job-name', 'abuse')
    const ends = Object.fromEntries(
      readdirSync(join(jobs, 'abuse'), { withFileTypes: true }).flatMap((entry) => {
        const file = join(jobs, 'abuse', entry.name, 'record.json')
        if (!entry.isDirectory() || !existsSync(file)) return []
        const { end } = JSON.parse(readFileSync(file, 'utf8'))
        const { boundary, code, message } = end.failure ?? {}
        const ending = end.kind === 'scored' ? end.rewards : { kind: end.kind, boundary, code, message }
        return [[entry.name.replace(/__.*/, ''), ending]]
      }),
    )
    const expected = {
      ...Object.fromEntries(Object.keys(hostile).map((name) => [name, { reward: 0 }])),
      ...Object.fromEntries(Object.keys(honest).map((name) => [name, { reward: 1 }])),
    }
    expect(ends, ran.stderr.slice(-2000)).toEqual(expected)
    expect(Object.keys(hostile).length).toBeGreaterThanOrEqual(60)
    // Nothing on the host was reached, changed or revealed.
    expect(calls).toBe(0)
    expect(hostState()).toEqual(before)
    expect(bystander.exitCode).toBe(null)
    expect(spawnSync('grep', ['-rlF', secret, jobs], { encoding: 'utf8' }).stdout).toBe('')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be printed.
    expect(ran.stdout + ran.stderr).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/)
    expect(linksOut(jobs)).toEqual([])
    expect(found(jobs, '(', '-name', 'leak', '-o', '-name', 'ns', '-o', '-name', 'raw', ')')).toEqual([])
    // Nothing is left.
    expect(await left(join(cache, 'ot-agent'))).toEqual([])
    const cleaned = await ot('clean')
    expect(cleaned.code, cleaned.stderr).toBe(0)
  }, 900_000)

  async function ot(...args: string[]) {
    const words = ['-e', kind, ...options().flatMap((option) => ['--ek', option])]
    const child = spawn(process.execPath, [resolve('bin/ot-agent.js'), ...args, ...words], {
      env: { ...process.env, XDG_CACHE_HOME: cache, OT_ABUSE_SECRET: secret },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const exit = once(child, 'exit')
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
    const [code] = (await exit) as [number | null]
    return { code, stdout, stderr }
  }

  async function write(root: string, name: string, { agent, test, toml = '', files }: Attack): Promise<void> {
    const address = servers[0]?.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    await writeTask(root, name, {
      toml: `schema_version = "1.2"\n${toml}${toml.includes('[environment]') ? '' : '[environment]\n'}allow_internet = false\n`,
      solve: `export PORT=${port} ABSTRACT=${abstract}\n${agent}`,
      ...(test && { test }),
      ...(files && { files }),
    })
  }
}

/** What no sandbox may change: marks in folders of the host, and kernel settings. */
function hostState(): unknown {
  const marks = ['/etc', '/tmp', '/', '/root'].filter((dir) => existsSync(join(dir, 'ot-abuse')))
  const read = (name: string) => readFileSync(`/proc/sys/${name}`, 'utf8')
  return { marks, settings: settings.map(read), year: new Date().getFullYear() }
}

/** Links below a folder that lead out of it. */
function linksOut(root: string): string[] {
  const top = realpathSync(root)
  return found(root, '-type', 'l').filter((path) => {
    try {
      return !realpathSync(path).startsWith(`${top}/`)
    } catch {
      return false
    }
  })
}

/** The output of `find`, which follows no links. */
function found(root: string, ...how: string[]): string[] {
  const { stdout } = spawnSync('find', [root, ...how, '-print0'], { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  return stdout.split('\0').filter(Boolean)
}
