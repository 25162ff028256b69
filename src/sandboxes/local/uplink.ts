import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, readdirSync, readFileSync, statSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { BoundaryError, UserError } from '../../core/errors.ts'
import { exhaustionCause } from '../../lib/exhaustion.ts'
import { findProgram } from '../../lib/programs.ts'
import { shellQuote } from '../../lib/shell.ts'
import { signalGroup, signalProcess, spawnProcess } from '../../lib/spawn-process.ts'
import { cleanEnv } from '../namespaces/as-root-inside.ts'
import { enterUser } from './holder.ts'
import type { Privileges } from './privileges.ts'
import { hostAddresses, openNameRelay, outwardInterfaces, resolverFile } from './routes.ts'

/** A network namespace with a way out of this machine, and without anything of this machine's own network. */
export interface Uplink {
  /** A process in it. */
  readonly pid: number
  readonly alive: boolean
  close(): Promise<void>
}

/** Throws a UserError if programs in a sandbox cannot get a network; a machine without any route has none to share. */
export function requireUplink(): void {
  if (outwardInterfaces() === null) return
  const hint = 'or run tasks that need no network (network_mode = "no-network"), or another kind of sandbox'
  if (uplinkProgram() === null)
    throw new UserError(
      'a task with network needs pasta or slirp4netns (with ip), not found on this machine',
      `apt-get install -y passt; ${hint}`,
      3,
    )
  if (!mayOpen(tun))
    throw new UserError(
      'a task with network needs /dev/net/tun, which this user cannot open',
      `as root: modprobe tun; chmod 666 /dev/net/tun; ${hint}`,
      3,
    )
}

const tun = '/dev/net/tun'

/** Words before a program that let everyone open the device: users of sandboxes are not the host's root. */
const withOpenTun = [
  ...['unshare', '--mount', '--propagation', 'private', 'sh', '-c'],
  `mount -n -t tmpfs -o mode=755 tun /dev/net && mknod -m 666 ${tun} c 10 200 && exec "$@"`,
  'sh',
]

function isOpenToOthers(path: string): boolean {
  return ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o006) === 0o006
}

/** The program that carries packets between a namespace and the host's sockets; null if none is installed. */
function uplinkProgram(): 'pasta' | 'slirp4netns' | null {
  if (findProgram('pasta')) return 'pasta'
  return findProgram('slirp4netns') && findProgram('ip') ? 'slirp4netns' : null
}

function mayOpen(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Opens one for a holder's sandbox; null if this machine has no route anywhere. */
export async function openUplink(privileges: Privileges, outerPid: number): Promise<Uplink | null> {
  const interfaces = outwardInterfaces()
  if (interfaces === null) return null
  try {
    requireUplink()
  } catch (error) {
    throw new BoundaryError('sandbox', error instanceof Error ? error.message : String(error), { retryable: false })
  }
  // Its user namespace must be the sandbox's; otherwise programs inside could not even listen on port 80.
  const usernsPid = privileges.ownIds?.usernsPid ?? privileges.usernsPid
  const user = usernsPid === null ? enterUser(privileges, outerPid) : [`--user=/proc/${usernsPid}/ns/user`]
  const enter = [...(privileges.ownIds && !isOpenToOthers(tun) ? withOpenTun : []), 'nsenter', ...user]
  const uplink = uplinkProgram() === 'pasta' ? await pasta(enter, interfaces) : await slirp(enter)
  const { relay } = resolverFile()
  if (relay === null) return uplink
  return withNames(uplink, relay, [...enterUser(privileges, outerPid), `--net=/proc/${uplink.pid}/ns/net`])
}

/** An uplink whose programs can query a name server on the host's loopback, but nothing else there. */
async function withNames(uplink: Uplink, server: string, enter: readonly string[]): Promise<Uplink> {
  try {
    const relay = await openNameRelay(enter, server)
    return {
      pid: uplink.pid,
      get alive() {
        return uplink.alive
      },
      close: async () => {
        relay.close()
        await uplink.close()
      },
    }
  } catch (error) {
    await uplink.close()
    throw error
  }
}

/** Reports that it is ready, and ends when our end of its pipe closes, as happens when this process is killed. */
const waiter = 'echo ready; exec cat >/dev/null'

/**
 * Nothing is forwarded from or to the host's loopback, and no address stands for the host. A program inside can still
 * send a packet for 127.0.0.1 out of the interface (SO_BINDTODEVICE, IP_PKTINFO): sockets bound to the host's outward
 * interface send it to that network, not to the host's loopback.
 */
async function pasta(enter: readonly string[], { v4, v6 }: Interfaces): Promise<Uplink> {
  const bound = [
    ...(v4 === null ? ['--ipv6-only'] : ['--outbound-if4', v4]),
    ...(v6 === null ? ['--ipv4-only'] : ['--outbound-if6', v6]),
  ]
  const options = ['-f', '-q', '--netns-only', '--config-net', '--no-map-gw', ...bound]
  const closed = ['-t', 'none', '-u', 'none', '-T', 'none', '-U', 'none']
  const carrier = await start([...enter, 'pasta', ...options, ...closed, '--', 'sh', '-c', waiter], ['pipe', 'pipe'])
  await carrier.says('ready')
  const pid = childOf(carrier.pid)
  if (pid === null) {
    await carrier.end()
    throw new BoundaryError('sandbox', 'cannot give a sandbox its network: pasta’s namespace is gone')
  }
  return { pid, close: () => carrier.end(pid), ...aliveness(carrier.child) }
}

type Interfaces = NonNullable<ReturnType<typeof outwardInterfaces>>

/** A network that only slirp4netns knows. */
const slirpNetwork = '10.209.83.0/24'

/** slirp4netns accepts packets for any address of the host, so the namespace must not send any. */
async function slirp(enter: readonly string[]): Promise<Uplink> {
  const { v4, v6 } = hostAddresses()
  const rules = (addresses: readonly string[]) =>
    addresses.map((address) => `rule add pref 1 to ${address} prohibit\\n`).join('')
  const script = [
    'set -e',
    'ip link set lo up',
    `printf ${shellQuote(rules(v4))} | ip -4 -batch -`,
    `printf ${shellQuote(rules(v6))} | ip -6 -batch - || true`,
    waiter,
  ].join('\n')
  const space = await start([...enter, 'unshare', '--net', 'sh', '-c', script], ['pipe', 'pipe'])
  await space.says('ready')
  const options = ['--configure', '--mtu=65520', '--disable-host-loopback', '--disable-dns', `--cidr=${slirpNetwork}`]
  const watched = ['--exit-fd=3', '--ready-fd=1', '--netns-type=path', `/proc/${space.pid}/ns/net`, 'tap0']
  const carrier = await start([...enter, 'slirp4netns', ...options, ...watched], ['ignore', 'pipe', 'pipe'])
  try {
    await carrier.says('1')
  } catch (error) {
    await space.end()
    throw error
  }
  const close = async () => {
    await Promise.all([space.end(), carrier.end()])
  }
  return { pid: space.pid, close, ...aliveness(carrier.child) }
}

function aliveness(child: ChildProcess): { readonly alive: boolean } {
  return {
    get alive() {
      return child.exitCode === null && child.signalCode === null
    },
  }
}

interface Started {
  readonly child: ChildProcess
  readonly pid: number
  says(word: string): Promise<void>
  /** Kills it and what it started. */
  end(...pids: number[]): Promise<void>
}

/** Starts a helper; `stdio` are its stdin, its stdout and its third stream. */
async function start(
  argv: readonly string[],
  [stdin, stdout, third]: readonly ('pipe' | 'ignore')[],
): Promise<Started> {
  const [program = '', ...args] = argv
  const stdio = [stdin ?? 'ignore', stdout ?? 'ignore', 'pipe', ...(third ? [third] : [])] as const
  const child = await spawnProcess(program, args, { stdio: [...stdio], env: cleanEnv, cwd: '/', detached: true })
  const gone = once(child, 'exit').catch(() => {})
  let complaint = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-2000)
  })
  for (const stream of child.stdio) stream?.on('error', () => {})
  const end = async (...pids: number[]) => {
    // Its group first: a helper that fails on start can leave part of itself behind.
    for (const pid of pids) signalProcess(pid, 'SIGKILL')
    if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL')
    await gone
    for (const stream of child.stdio) stream?.destroy()
  }
  const says = async (word: string) => {
    const heard = await Promise.race([firstText(child.stdout), gone.then(() => '')])
    if (heard.includes(word)) return
    await end()
    const why = complaint.trim().split('\n').at(-1) ?? ''
    const message = `cannot give a sandbox its network: ${program} ${args[1] ?? ''}: ${why}`
    throw new BoundaryError('sandbox', message, exhaustionCause(complaint))
  }
  return { child, pid: child.pid ?? 0, says, end }
}

async function firstText(stream: Readable | null): Promise<string> {
  if (stream === null) return ''
  const [chunk] = await once(stream, 'data')
  return String(chunk)
}

/** The only child of a process. */
function childOf(parent: number): number | null {
  for (const name of readdirSync('/proc')) {
    if (/^\d+$/.test(name) && parentOf(name) === parent) return Number(name)
  }
  return null
}

function parentOf(pid: string): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return null
  }
}
