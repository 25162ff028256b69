import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { findProgram } from '../src/lib/programs.ts'
import { tarDir } from '../src/lib/tar.ts'
import { ContainerEngine } from '../src/sandboxes/containers/container-engine.ts'

/** A container engine with its own store that a test starts and stops. */
export interface TestEngine {
  readonly name: 'docker' | 'podman'
  readonly socket: string
  /** Variables for the engine's own command line. */
  readonly env: Readonly<Record<string, string>>
  readonly engine: ContainerEngine
  /** The engine's process. */
  readonly pid: number
  stop(): Promise<void>
}

export interface TestEngineOptions {
  /** In its own network namespace, where it sets up the packet filter as it would on a host. */
  readonly apart?: boolean
  /** The parent control group of docker's containers. */
  readonly containersIn?: string
}

/** The image that `makeBase` builds. */
export const baseImage = 'localhost/ot-agent-test:latest'

/** Why no engine of this kind can be started here, or null. */
export function whyNotEngine(name: 'docker' | 'podman'): string | null {
  const wanted = name === 'podman' ? ['podman', 'runc'] : ['dockerd', 'containerd', 'runc']
  const missing = wanted.filter((program) => findProgram(program) === null)
  if (missing.length > 0) return `needs ${missing.join(', ')}, not found on this machine`
  return process.getuid?.() === 0 ? null : `needs root to start ${name}`
}

/** Why no engine can be started in its own network namespace here, or null. */
export function whyNotApart(name: 'docker' | 'podman'): string | null {
  const why = whyNotEngine(name)
  if (why !== null) return why
  const missing = ['unshare', 'nsenter', 'ip', 'iptables'].filter((program) => findProgram(program) === null)
  if (missing.length > 0) return `needs ${missing.join(', ')}, not found on this machine`
  const { status } = spawnSync('unshare', ['-n', 'iptables', '-t', 'nat', '-L', '-n'], { stdio: 'ignore' })
  return status === 0 ? null : 'needs a kernel with a packet filter'
}

const alone = ['unshare', '-n', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh']

/** Starts an engine with its own store in a new directory. */
export async function startEngine(
  name: 'docker' | 'podman',
  { apart = false, containersIn }: TestEngineOptions = {},
): Promise<TestEngine> {
  const dir = mkdtempSync(join(tmpdir(), `ot-${name}-`))
  const socket = join(dir, 'engine.sock')
  const { argv, env } = name === 'podman' ? podmanLine(dir, socket) : dockerdLine(dir, socket, apart)
  if (containersIn !== undefined) argv.push('--cgroup-parent', containersIn)
  const [program = '', ...args] = apart ? [...alone, ...argv] : argv
  const child = spawn(findProgram(program) ?? program, args, {
    env: { ...process.env, ...env },
    // An engine's helper leaves a file in its working directory when a container runs out of memory.
    cwd: tmpdir(),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-4000)
  })
  const exit = once(child, 'exit')
  const engine = new ContainerEngine(name, socket)
  for (let tries = 0; ; tries++) {
    const up = await engine.ping().then(
      () => true,
      () => false,
    )
    if (up) break
    if (child.exitCode !== null || tries > 900) throw new Error(`${name} does not start: ${said}`)
    await wait(100)
  }
  const stop = async () => {
    await removeContainers(engine)
    child.kill('SIGTERM')
    await exit
    await removeStore(dir)
  }
  return { name, socket, env, engine, pid: child.pid ?? 0, stop }
}

function podmanLine(dir: string, socket: string) {
  const at = (name: string) => join(dir, name)
  mkdirSync(at('networks'))
  writeFileSync(
    at('storage.conf'),
    `[storage]\ndriver = "overlay"\ngraphroot = "${at('root')}"\nrunroot = "${at('run')}"\n`,
  )
  const config = [
    '[containers]',
    // The defaults would raise limits, which root may not do everywhere.
    'default_ulimits = ["nofile=4096:4096", "nproc=32768:32768"]',
    'log_driver = "k8s-file"',
    '[network]',
    `network_config_dir = "${at('networks')}"`,
    '[engine]',
    'cgroup_manager = "cgroupfs"',
    'events_logger = "file"',
    'runtime = "runc"',
    `tmp_dir = "${at('tmp')}"`,
  ]
  writeFileSync(at('containers.conf'), `${config.join('\n')}\n`)
  // Docker's default: a registry on this machine needs no certificate.
  writeFileSync(at('registries.conf'), '[[registry]]\nlocation = "127.0.0.1"\ninsecure = true\n')
  const env = {
    CONTAINERS_STORAGE_CONF: at('storage.conf'),
    CONTAINERS_CONF: at('containers.conf'),
    CONTAINERS_REGISTRIES_CONF: at('registries.conf'),
  }
  return { argv: ['podman', 'system', 'service', '--time=0', `unix://${socket}`], env }
}

function dockerdLine(dir: string, socket: string, apart: boolean) {
  const at = (name: string) => join(dir, name)
  const argv = ['dockerd', '--data-root', at('data'), '--exec-root', at('exec'), '-H', `unix://${socket}`]
  argv.push('--pidfile', at('pid'))
  if (!apart) argv.push('--iptables=false', '--ip6tables=false', '--bridge=none')
  return { argv: [...argv, '--default-ulimit', 'nofile=4096:4096'], env: { DOCKER_HOST: `unix://${socket}` } }
}

/**
 * Containers left by a failed test would keep running without their engine. An engine may refuse to remove one it is
 * still busy with.
 */
async function removeContainers(engine: ContainerEngine): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    const { body } = await engine.ask({ method: 'GET', path: '/containers/json', query: { all: true } })
    const left = Array.isArray(body) ? (body as { Id: string }[]) : []
    if (left.length === 0) return
    if (tries > 0) await wait(500)
    const query = { force: true, v: true }
    for (const { Id } of left)
      await engine.ask({ method: 'DELETE', path: `/containers/${Id}`, query, accept: [404, 409, 500] })
  }
}

/** An engine's helpers outlive it, Podman's by minutes, and write to what is being removed. */
async function removeStore(dir: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      for (const pid of processesOf(dir)) process.kill(pid, 'SIGKILL')
      unmountBelow(dir)
      return rmSync(dir, { recursive: true, force: true })
    } catch (error) {
      if (tries === 60) throw error
      await wait(500)
    }
  }
}

/**
 * The processes whose command line names the store, which only this test knows, and those whose root is in it: a
 * container started while its engine was shutting down outlives the monitor that we kill.
 */
function processesOf(dir: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return []
    try {
      const isHelper = readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(`${dir}/`)
      return isHelper || hasRootIn(dir, readFileSync(`/proc/${name}/mountinfo`, 'utf8')) ? [Number(name)] : []
    } catch {
      return []
    }
  })
}

/** Whether the mount at `/` consists of layers in a directory. */
function hasRootIn(dir: string, mounts: string): boolean {
  return mounts.split('\n').some((line) => line.split(' ')[4] === '/' && line.includes(`=${dir}/`))
}

/** Removing the store must not reach through mounts that an engine left. */
function unmountBelow(dir: string): void {
  const mounts = execFileSync('cat', ['/proc/self/mounts'], { encoding: 'utf8' }).split('\n')
  const below = mounts.flatMap((line) => (line.split(' ')[1]?.startsWith(`${dir}/`) ? [line.split(' ')[1] ?? ''] : []))
  for (const path of below.reverse()) execFileSync('umount', ['-l', path])
}

const programs = (
  'bash sh cat chmod chown cp cut date dd dirname basename echo env expr false find getent grep head id install kill ln ls mkdir mkfifo ' +
  'mktemp mount mv nl nohup od printf pwd readlink realpath rm rmdir sed seq setpriv setsid sha256sum sleep sort stat stty su tac tail tar tee ' +
  'test timeout touch tr true truncate tty umount uname uniq unshare wc whoami xargs dmesg gzip awk diff cmp'
).split(' ')

/**
 * Makes a small image from this machine's own programs, so that no registry is needed. `more`: as for `withBaseFiles`.
 */
export async function makeBase(engine: ContainerEngine, more: readonly string[] = []): Promise<void> {
  const [repo, tag] = baseImage.split(/:(?=[^:]*$)/)
  const query = { fromSrc: '-', repo, tag }
  await withBaseFiles(more, (tar) => engine.ask({ method: 'POST', path: '/images/create', query, tar }))
}

/** Provides that image's files as a tar archive. `more`: additional programs, by name or path, and directories. */
export async function withBaseFiles<T>(
  more: readonly string[],
  use: (tar: ReturnType<typeof tarDir>) => Promise<T>,
): Promise<T> {
  const root = mkdtempSync(join(tmpdir(), 'ot-base-'))
  try {
    for (const name of ['bin', 'sbin', 'lib', 'lib64']) {
      mkdirSync(join(root, 'usr', name), { recursive: true })
      symlinkSync(`usr/${name}`, join(root, name))
    }
    for (const name of 'tmp var/tmp root home opt mnt etc/profile.d etc/ld.so.conf.d proc sys dev run srv var/lib usr/local/bin usr/local/sbin'.split(
      ' ',
    ))
      mkdirSync(join(root, name), { recursive: true })
    writeFileSync(
      join(root, 'etc/passwd'),
      'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n',
    )
    writeFileSync(join(root, 'etc/group'), 'root:x:0:\nnogroup:x:65534:\n')
    writeFileSync(join(root, 'etc/passwd-'), '')
    writeFileSync(join(root, 'etc/profile.d/base.sh'), ':\n')
    writeFileSync(join(root, 'etc/ld.so.conf.d/base.conf'), '/usr/local/lib\n')
    writeFileSync(join(root, 'root/.bashrc'), '# base\n')
    const dirs = more.filter((path) => path.startsWith('/') && statSync(path).isDirectory())
    const inDirs = dirs.flatMap((dir) => copyDir(root, dir))
    addPrograms(root, [...programs, ...more.filter((name) => !dirs.includes(name))], inDirs)
    return await use(tarDir(root, { links: 'keep', modes: 'kept', special: 'skip' }))
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

/** Copies a directory to the same place, without what no program needs; returns the libraries in it. */
function copyDir(root: string, dir: string): string[] {
  const left = /\/(?:test|__pycache__|idlelib|tkinter|lib2to3|ensurepip|config-[^/]*|(?:site|dist)-packages)$/
  const filter = (path: string) => !left.test(path) && existsSync(path)
  cpSync(dir, join(root, dir), { recursive: true, dereference: true, filter })
  const found = spawnSync('find', [join(root, dir), '-name', '*.so'], { encoding: 'utf8' })
  return found.stdout.split('\n').filter(Boolean)
}

/** Copies programs to /usr/bin, and the libraries that they and others are linked with to the same places. */
function addPrograms(root: string, names: readonly string[], others: readonly string[]): void {
  const found = names.map((name) => {
    const path = findProgram(name)
    if (path === null) throw new Error(`this machine has no ${name}`)
    const real = realpathSync(path)
    copyInto(root, real, join('/usr/bin', basename(name)))
    return real
  })
  const linked = spawnSync('ldd', [...new Set(found), ...others], { encoding: 'utf8' }).stdout
  for (const [, library = ''] of linked.matchAll(/(\/\S+) \(0x/g))
    copyInto(root, realpathSync(library), library.replace(/^\/lib/, '/usr/lib'))
}

function copyInto(root: string, source: string, target: string): void {
  const place = join(root, target)
  if (existsSync(place)) return
  mkdirSync(dirname(place), { recursive: true })
  copyFileSync(source, place)
}
