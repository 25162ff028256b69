import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { SandboxOwner } from '../../core/sandbox.ts'
import { isMissing, writeAtomic } from '../../lib/files.ts'
import { readJson } from '../../lib/parse-json.ts'
import { livenessOf, markedOurselves, type ProcessIdentity } from '../../lib/process-identity.ts'

/** Short texts that a cloud keeps with a machine and can search by. */
export type Labels = Readonly<Record<string, string>>

/** The label of all our machines, which tells them from other people's. */
export const ours: Labels = { 'ot-agent': '1' }

/**
 * Labels of one lease: who holds it, and a unique name by which to find it even if the request to create it was never
 * answered.
 */
export function labelsOf(owner: SandboxOwner): { readonly lease: string; readonly labels: Labels } {
  const lease = randomBytes(8).toString('hex')
  const { pid, startTicks, bootId, host, pidNs } = markedOurselves()
  const labels = {
    ...ours,
    'ot-lease': lease,
    'ot-job': shortened(owner.job),
    'ot-trial': shortened(owner.trial),
    'ot-process': `${pid}.${startTicks}.${bootId}`,
    'ot-host': shortened(host),
    'ot-pidns': pidNs,
  }
  return { lease, labels }
}

export function ownerOf(labels: Labels): SandboxOwner {
  return { job: labels['ot-job'] ?? '', trial: labels['ot-trial'] ?? '' }
}

/** The process that holds a machine, or null when its labels do not say. */
function holderOf(labels: Labels): ProcessIdentity | null {
  const [, pid, startTicks, bootId] = /^(\d+)\.(\d+)\.([0-9a-f-]+)$/.exec(labels['ot-process'] ?? '') ?? []
  const host = labels['ot-host']
  if (pid === undefined || startTicks === undefined || bootId === undefined || host === undefined) return null
  return { pid: Number(pid), startTicks, bootId, host, pidNs: labels['ot-pidns'] }
}

/**
 * Whether a machine's holder is known to be dead. That is never known of a holder on another machine: the provider's
 * own limit ends those.
 */
export function isAbandoned(labels: Labels): boolean {
  const holder = holderOf(labels)
  return holder !== null && livenessOf(holder) === 'dead'
}

/** Shortens a text to what every cloud accepts as a label. */
function shortened(text: string): string {
  return text.replace(/[^A-Za-z0-9._-]/g, '-').slice(0, 63)
}

const startSchema = z.object({ schema: z.literal('start/1'), labels: z.record(z.string(), z.string()) })

/**
 * Starts in progress, recorded before the cloud is asked, so that a clean-up after a dead process knows which machines
 * may still appear.
 */
export class Starts {
  constructor(private readonly dir: string) {}

  async begin(lease: string, labels: Labels): Promise<void> {
    await mkdir(this.dir, { recursive: true })
    await writeAtomic(this.path(lease), `${JSON.stringify({ schema: 'start/1', labels })}\n`)
  }

  async end(lease: string): Promise<void> {
    await rm(this.path(lease), { force: true })
  }

  async list(): Promise<readonly { readonly lease: string; readonly labels: Labels; readonly ageSec: number }[]> {
    const names = await readdir(this.dir).catch((error: unknown) => {
      if (isMissing(error)) return []
      throw error
    })
    const found = await Promise.all(names.filter((name) => name.endsWith('.json')).map((name) => this.load(name)))
    return found.flatMap((start) => start ?? [])
  }

  private async load(name: string) {
    try {
      const path = join(this.dir, name)
      const { labels } = startSchema.parse(readJson(await readFile(path, 'utf8')))
      const ageSec = (Date.now() - (await stat(path)).mtimeMs) / 1000
      return { lease: name.slice(0, -'.json'.length), labels, ageSec }
    } catch {
      // It ended a moment ago.
      return null
    }
  }

  private path(lease: string): string {
    return join(this.dir, `${lease}.json`)
  }
}
