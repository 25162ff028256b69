import type { ChildProcess } from 'node:child_process'
import { createServer } from 'node:net'
import { BoundaryError, UserError } from '../../core/errors.ts'
import { expired, withDeadline } from '../../lib/deadline.ts'
import { findProgram } from '../../lib/programs.ts'
import { relayOutput } from '../../lib/relay-output.ts'
import { shellQuote } from '../../lib/shell.ts'
import { signalGroup, spawnProcess } from '../../lib/spawn-process.ts'
import type { Notify } from '../job/tasks-request.ts'
import { endServer, noteServer, serverVariable } from './server-notes.ts'

/** How long a server has to exit. */
const graceSec = 30

/** A supervised process, with everything it starts. */
export interface ServerProcess {
  readonly child: ChildProcess
  /** Rejects when the process ends on its own. */
  readonly gone: Promise<never>
  readonly killAll: (name: NodeJS.Signals) => void
  /** Its id among the recorded servers. */
  readonly id: string
}

/** Starts a program in its own process group. Its output goes to stderr; stdout is for the result. */
export async function start(
  [name = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  notify: Notify,
): Promise<ServerProcess> {
  const program = findProgram(name)
  if (program === null) {
    throw new UserError(
      `expected the program ${name}, which starts the model server, found none on this machine`,
      'install it on the PATH (pip install vllm), or pass the address of a running server with --api-base',
    )
  }
  notify(`starts ${[name, ...args].map(shellQuote).join(' ')}`)
  // Where setpriv exists, the kernel is asked to kill the server when we die, even by SIGKILL.
  const guard = findProgram('setpriv')
  const [first = program, ...rest] = guard === null ? [program] : [guard, '--pdeathsig', 'TERM', program]
  // setpriv is not always available and covers only the server itself; through the note, leftovers can be found later.
  const id = await noteServer(name)
  const child = await spawnProcess(first, [...rest, ...args], {
    env: { ...process.env, ...env, [serverVariable]: id },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  relayOutput(child)
  const killAll = (signal: NodeJS.Signals) => {
    if (child.pid !== undefined) signalGroup(child.pid, signal)
  }
  const atExit = () => killAll('SIGKILL')
  process.once('exit', atExit)
  child.once('exit', () => process.off('exit', atExit))
  return { child, gone: endOf(child, name), killAll, id }
}

function endOf(child: ChildProcess, name: string): Promise<never> {
  const gone = new Promise<never>((_, reject) => {
    child.once('error', (error) => reject(new BoundaryError('model', `${name} could not be started: ${error.message}`)))
    child.once('exit', (code, by) =>
      reject(new BoundaryError('model', `${name} ended with ${by ?? `exit code ${code}`}`)),
    )
  })
  gone.catch(() => {})
  return gone
}

/** Stops a process and everything it started. */
export async function stop({ child, gone, killAll, id }: ServerProcess): Promise<void> {
  killAll('SIGTERM')
  const ended = await withDeadline(graceSec, new AbortController().signal, () => gone.catch(() => 'gone' as const))
  if (ended === expired) child.unref()
  // Workers may outlive the process that started them.
  killAll('SIGKILL')
  await endServer(id)
}

/** A port that is free now; the system returns a different one each time. */
export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, resolve)
  })
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}
