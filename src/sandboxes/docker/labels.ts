import { randomBytes } from 'node:crypto'
import type { SandboxOwner } from '../../core/sandbox.ts'
import { livenessOf, markedOurselves, type ProcessIdentity } from '../../lib/process-identity.ts'

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
  pidNs: 'ot-agent.pidns',
  start: 'ot-agent.start',
  expires: 'ot-agent.expires',
} as const

type Labels = Readonly<Record<string, string>>

/** A new sandbox's name: known before anything is made, so that what is half-made can be found and removed. */
export function newSandboxId(): string {
  return `ot-agent-${randomBytes(8).toString('hex')}`
}

/** The labels of a sandbox of this process. `lifetimeSec` counts only where the owner's state is unknown. */
export function renderLabels(id: string, owner: SandboxOwner, lifetimeSec: number): Labels {
  const process_ = markedOurselves()
  return {
    [ownedLabel]: id,
    [names.job]: owner.job,
    [names.trial]: owner.trial,
    [names.host]: process_.host,
    [names.boot]: process_.bootId,
    [names.pid]: String(process_.pid),
    [names.pidNs]: process_.pidNs,
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
    process: {
      pid: Number(text('pid')),
      startTicks: text('start'),
      bootId: text('boot'),
      host: text('host'),
      pidNs: text('pidNs') || undefined,
    },
    expiresMs: Date.parse(text('expires')),
  }
}

/** Whether it is abandoned: its process is dead, or its state is unknown and the sandbox is past its time. */
export function isAbandoned({ process, expiresMs }: LabelledOwner, nowMs = Date.now()): boolean | 'unknown' {
  const liveness = livenessOf(process)
  if (liveness === 'unknown') return expiresMs > nowMs ? 'unknown' : true
  return liveness === 'dead'
}
