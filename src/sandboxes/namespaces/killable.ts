import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import type { ControlGroup, ProcessGroup } from '../../lib/control-group.ts'
import { sleep } from '../../lib/deadline.ts'
import { exhaustedBy, patiently } from '../../lib/exhaustion.ts'
import { codeOf } from '../../lib/files.ts'
import { signalProcess } from '../../lib/spawn-process.ts'

/** The processes of one command, which are killed together. */
export interface KillableGroup {
  /** A process joins by writing 0 into each of these. */
  readonly joinFiles: readonly string[]
  /** Variables its processes must carry. */
  readonly env?: Readonly<Record<string, string>>
  kill(): Promise<void>
  /** After its command ended: whether it is empty and may serve another command, must be kept, or can be forgotten. */
  release(): 'reuse' | 'keep' | 'forget'
}

/** A command's processes in their own control group. */
export function groupOf(processes: ProcessGroup): KillableGroup {
  return {
    joinFiles: processes.joinFiles,
    kill: () => processes.kill(),
    release: () => (processes.isEmpty() ? 'reuse' : 'keep'),
  }
}

/**
 * Where control groups cannot be made, a command's processes are found by a variable in their environment. The program
 * that starts the command must carry it too: on its way in, a process has not become the command yet, and if it is
 * missed, it keeps running after everything else was killed. A process that rewrites its environment escapes this; it
 * dies with the sandbox.
 */
export function markedGroup(): KillableGroup {
  const [name, value] = ['OT_AGENT_COMMAND', randomUUID()]
  return {
    joinFiles: [],
    env: { [name]: value },
    release: () => 'forget',
    async kill() {
      for (let attempt = 0; attempt < 100; attempt++) {
        const { marked, unsure } = await patiently(async () => findMarked(`${name}=${value}`))
        if (marked.length === 0 && !unsure) return
        for (const pid of marked) signalProcess(pid, 'SIGKILL')
        await sleep(marked.length > 0 ? 5 : 1)
      }
    },
  }
}

/** The groups of a sandbox's commands; an empty one is reused for the next command. */
export class CommandGroups {
  private readonly all = new Set<KillableGroup>()
  private readonly free: KillableGroup[] = []

  /** `parent` is null if this process cannot make control groups. */
  constructor(private readonly parent: Pick<ControlGroup, 'child'> | null) {}

  take(): KillableGroup {
    const free = this.free.pop()
    if (free) return free
    const made = this.parent?.child(`command-${this.all.size}`)
    const group = made ? groupOf(made) : markedGroup()
    this.all.add(group)
    return group
  }

  release(group: KillableGroup): void {
    const next = group.release()
    if (next === 'reuse') this.free.push(group)
    if (next === 'forget') this.all.delete(group)
  }

  async kill(): Promise<void> {
    await Promise.all([...this.all].map((group) => group.kill()))
  }
}

/**
 * `unsure`: a process was just becoming another program, or ended and may have left a child that was not listed yet.
 */
function findMarked(mark: string): { marked: number[]; unsure: boolean } {
  const marked: number[] = []
  let unsure = false
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const environment = environmentOf(name)
    if (environment === 'unknown') unsure = true
    else if (environment.includes(mark)) marked.push(Number(name))
  }
  return { marked, unsure }
}

function environmentOf(pid: string): readonly string[] | 'unknown' {
  try {
    const text = readFileSync(`/proc/${pid}/environ`, 'utf8')
    return text === '' && mayBeBecoming(pid) ? 'unknown' : text.split('\0')
  } catch (error) {
    if (exhaustedBy(error) !== null) throw error
    // What we may not examine is not ours.
    return codeOf(error) === 'EACCES' || codeOf(error) === 'EPERM' ? [] : 'unknown'
  }
}

/**
 * In the middle of `exec` a process has no environment. Zombies and kernel threads have none either, but they also have
 * no memory.
 */
function mayBeBecoming(pid: string): boolean {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const field = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // Counted from the third field, in the numbering of proc(5).
  const [memory, start, end] = [field[23 - 3], field[50 - 3], field[51 - 3]]
  return memory !== '0' && (end === '0' || start !== end)
}
