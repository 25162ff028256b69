import { createHash, randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import type { SandboxOwner } from '../../core/sandbox.ts'
import { livenessOf, markedOurselves, type ProcessIdentity } from '../../lib/process-identity.ts'

/** On everything of ours that must be removed when its owner is gone. */
export const ownedLabel = 'ot-agent.sandbox'
/** On images built from a task's environment, which stay. */
export const environmentLabel = 'ot-agent.environment'
/** Images of frozen sandboxes; they are removed with their sandbox. */
export const frozenRepo = 'ot-agent/frozen'
const names = {
  state: 'ot-agent.state',
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

/** A new sandbox's name: known before anything is made, so that half-made things can be found and removed. */
export function newSandboxId(): string {
  return `ot-agent-${randomBytes(8).toString('hex')}`
}

const sandboxId = /^ot-agent-[0-9a-f]{16}$/

/** The mark of everything that belongs to one state directory. */
export function stateMark(stateDir: string): string {
  return createHash('sha256').update(resolve(stateDir)).digest('hex').slice(0, 32)
}

export interface LabelOptions {
  readonly stateDir: string
  /** Only used when the owner's state is unknown. */
  readonly lifetimeSec: number
}

/** The labels of a sandbox of this process. */
export function renderLabels(id: string, owner: SandboxOwner, { stateDir, lifetimeSec }: LabelOptions): Labels {
  const process_ = markedOurselves()
  return {
    [ownedLabel]: id,
    [names.state]: stateMark(stateDir),
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
  /** The mark of its state directory. */
  readonly stateMark: string
  readonly owner: SandboxOwner
  readonly process: ProcessIdentity
  readonly expiresMs: number
}

/** The owner of a thing according to its labels; null unless it has all of our labels. */
export function parseLabels(labels: Labels | null | undefined): LabelledOwner | null {
  const sandbox = labels?.[ownedLabel]
  if (!labels || sandbox === undefined || !sandboxId.test(sandbox)) return null
  if (!Object.values(names).every((name) => Object.hasOwn(labels, name))) return null
  const text = (name: keyof typeof names) => labels[names[name]] ?? ''
  if (!/^\d+$/.test(text('pid')) || Number.isNaN(Date.parse(text('expires')))) return null
  return {
    sandbox,
    stateMark: text('state'),
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

/**
 * Whether it is abandoned: its process is dead, or its state is unknown and the sandbox has outlived its time limit.
 */
export function isAbandoned({ process, expiresMs }: LabelledOwner, nowMs = Date.now()): boolean | 'unknown' {
  const liveness = livenessOf(process)
  if (liveness === 'unknown') return expiresMs > nowMs ? 'unknown' : true
  return liveness === 'dead'
}
