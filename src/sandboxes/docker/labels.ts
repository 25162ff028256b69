import { randomBytes } from 'node:crypto'
import type { SandboxOwner } from '../../core/sandbox.ts'
import { identify, livenessOf, type ProcessIdentity } from '../../lib/process-identity.ts'

/** On everything of ours that must go when its owner is gone. */
export const ownedLabel = 'ot-agent.sandbox'
/** On images built from a task's environment, which stay. */
export const environmentLabel = 'ot-agent.environment'
const names = {
  job: 'ot-agent.job',
  trial: 'ot-agent.trial',
  host: 'ot-agent.host',
  boot: 'ot-agent.boot',
  pid: 'ot-agent.pid',
  start: 'ot-agent.start',
  expires: 'ot-agent.expires',
} as const

type Labels = Readonly<Record<string, string>>

/** A new sandbox's name: known before anything is made, so that what is half-made can be found and removed. */
export function newSandboxId(): string {
  return `ot-agent-${randomBytes(8).toString('hex')}`
}

/** The labels of a sandbox of this process. `lifetimeSec` counts only where nobody can tell whether the owner lives. */
export function renderLabels(id: string, owner: SandboxOwner, lifetimeSec: number): Labels {
  const process_ = identify(process.pid)
  if (!process_) throw new Error('this process cannot find itself in /proc')
  return {
    [ownedLabel]: id,
    [names.job]: owner.job,
    [names.trial]: owner.trial,
    [names.host]: process_.host,
    [names.boot]: process_.bootId,
    [names.pid]: String(process_.pid),
    [names.start]: process_.startTicks,
    [names.expires]: new Date(Date.now() + lifetimeSec * 1000).toISOString(),
  }
}

export interface LabelledOwner {
  readonly sandbox: string
  readonly owner: SandboxOwner
  readonly process: ProcessIdentity
  readonly expiresMs: number
}

/** Who a thing belongs to by its labels; null when they are not ours. */
export function parseLabels(labels: Labels | null | undefined): LabelledOwner | null {
  const sandbox = labels?.[ownedLabel]
  if (!labels || sandbox === undefined) return null
  const text = (name: keyof typeof names) => labels[names[name]] ?? ''
  return {
    sandbox,
    owner: { job: text('job'), trial: text('trial') },
    process: { pid: Number(text('pid')), startTicks: text('start'), bootId: text('boot'), host: text('host') },
    expiresMs: Date.parse(text('expires')),
  }
}

/** Whether nobody will come back for it: its process is dead, or of another machine and past its time. */
export function isAbandoned({ process, expiresMs }: LabelledOwner, nowMs = Date.now()): boolean {
  const liveness = livenessOf(process)
  return liveness === 'dead' || (liveness === 'unknown' && !(expiresMs > nowMs))
}
