import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { ProcessGroup } from '../../lib/control-group.ts'
import { sleep } from '../../lib/deadline.ts'

/** The processes of one command, to be killed together. */
export interface KillableGroup {
  /** A process joins by writing 0 into each of these. */
  readonly joinFiles: readonly string[]
  /** Variables its processes must carry. */
  readonly env?: Readonly<Record<string, string>>
  kill(): Promise<void>
  /** After its command ended: whether it is empty and may serve another, must be kept, or can be forgotten. */
  release(): 'reuse' | 'keep' | 'forget'
}

/** A command's processes in a control group of their own. */
export function groupOf(processes: ProcessGroup): KillableGroup {
  return {
    joinFiles: processes.joinFiles,
    kill: () => processes.kill(),
    release: () => (processes.isEmpty() ? 'reuse' : 'keep'),
  }
}

/**
 * Where control groups cannot be made, a command's processes are found by a variable in their environment.
 * A process that rewrites its environment escapes this; it dies with the sandbox.
 */
export function markedGroup(innerPid: number): KillableGroup {
  const mark = `OT_AGENT_COMMAND=${randomUUID()}`
  const [name = '', value = ''] = mark.split('=')
  return {
    joinFiles: [],
    env: { [name]: value },
    release: () => 'forget',
    async kill() {
      for (let attempt = 0; attempt < 50; attempt++) {
        const pids = markedPids(innerPid, mark)
        if (pids.length === 0) return
        for (const pid of pids) tryKill(pid)
        await sleep(5)
      }
    },
  }
}

function markedPids(innerPid: number, mark: string): number[] {
  const namespace = readLink(`/proc/${innerPid}/ns/pid`)
  const pids = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
  return pids.filter((pid) => readLink(`/proc/${pid}/ns/pid`) === namespace && environmentOf(pid).includes(mark))
}

function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  } catch {
    return []
  }
}

function readLink(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    return null
  }
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It is gone already.
  }
}
