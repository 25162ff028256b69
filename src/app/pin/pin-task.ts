import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { BoundaryError, UserError } from '../../core/errors.ts'
import { isStandInNote } from '../../core/sandbox.ts'
import type { Task } from '../../core/task.ts'
import { textLimitBytes } from '../../formats/dockerfile/context.ts'
import { type Found, findPinnable, type LeftAlone } from '../../formats/dockerfile/pins/find.ts'
import { decidePins, type Known, type Pin, renderPin, renderPinned } from '../../formats/dockerfile/pins/pin.ts'
import { loadTask } from '../../formats/harbor-task/load.ts'
import { readTaskText } from '../../formats/harbor-task/read.ts'
import { exists } from '../../lib/files.ts'
import { checkTask } from '../../run/check/check-task.ts'
import { withSandbox } from '../../run/check/with-sandbox.ts'
import { firstReason } from '../check/reasons.ts'
import type { Spine } from '../check/spine.ts'
import { askSandbox } from './ask.ts'
import { copyPinned, copyTo, dockerfileOf, pinInPlace } from './save.ts'

/** How pinning a task ended. `kept`: the task would no longer hold if pinned. `refused`: not even tried. */
export type PinStatus = 'pinned' | 'would-pin' | 'unchanged' | 'kept' | 'refused'

export interface PinReport {
  readonly task: string
  readonly dir: string
  readonly status: PinStatus
  /** Why, if the status does not say. */
  readonly reason: string | null
  /** What was pinned, or would be. */
  readonly pins: readonly Pinned[]
  readonly left: readonly LeftAlone[]
  /** Content digests; `after` is null if nothing was written. */
  readonly digest: { readonly before: string | null; readonly after: string | null }
  /** The directory of the pinned task: the original, or its copy. Null if nothing was written. */
  readonly written: string | null
}

export interface Pinned {
  readonly manager: string
  readonly line: number
  readonly from: string
  readonly to: string
}

export interface PinOptions {
  /** Whether the task must hold before and after. */
  readonly check: boolean
  readonly dryRun: boolean
  /** Whether a stand-in for the task's base image is good enough. */
  readonly trustStandIn: boolean
  /** Where to write a copy of the task; null changes the task itself. */
  readonly target: string | null
}

/** Pins what a task's Dockerfile installs to the versions in the built image, and proves that the task still holds. */
export async function pinTask(task: Task, options: PinOptions, spine: Spine, workDir: string): Promise<PinReport> {
  const pinning = new Pinning(task, options, spine, workDir)
  try {
    return await pinning.run()
  } catch (error) {
    if (!(error instanceof BoundaryError || error instanceof UserError)) throw error
    return pinning.report('refused', error.message)
  } finally {
    await rm(workDir, { recursive: true, force: true })
  }
}

/** The report for a directory that is not a readable task. */
export function brokenReport(dir: string, task: string, reason: string): PinReport {
  const nothing = { pins: [], left: [], digest: { before: null, after: null }, written: null }
  return { task, dir, status: 'refused', reason, ...nothing }
}

class Pinning {
  private pins: readonly Pin[] = []
  private left: readonly LeftAlone[] = []
  private readonly file: string

  constructor(
    private readonly task: Task,
    private readonly options: PinOptions,
    private readonly spine: Spine,
    private readonly workDir: string,
  ) {
    this.file = dockerfileOf(task.dir)
  }

  async run(): Promise<PinReport> {
    const { task, options } = this
    const text = await readTaskText(task.dir, this.file)
    const otherwise = await this.whyNothingIsBuilt(text)
    if (text === null || otherwise !== null) return this.unchanged(otherwise)
    if (text.length > textLimitBytes)
      return this.report('refused', `its Dockerfile is larger than ${textLimitBytes} bytes`)
    const found = findPinnable(text, 'environment/Dockerfile')
    this.left = found.left
    if (!this.isWorthBuilding(found)) {
      this.decide(found, { versions: () => null, digest: () => null })
      return this.unchanged(null)
    }
    const refusal = await this.lookUp(found)
    if (refusal !== null) return this.report('refused', refusal)
    if (this.pins.length === 0) return this.unchanged(null)
    if (options.dryRun) return this.report('would-pin', null)
    const before = options.check ? await this.whyNotSound(task, 'before') : null
    return before === null ? this.prove(text) : this.report('refused', `it fails tasks check before pinning: ${before}`)
  }

  report(status: PinStatus, reason: string | null, written: { dir: string; digest: string } | null = null): PinReport {
    const { name, dir, digests } = this.task
    const pins = this.pins.map((pin) => {
      const { manager, line, written } = pin.pinnable
      return { manager, line, from: written, to: renderPin(pin) }
    })
    const digest = { before: digests.content, after: written?.digest ?? null }
    return { task: name, dir, status, reason, pins, left: this.left, digest, written: written?.dir ?? null }
  }

  private async whyNothingIsBuilt(text: string | null): Promise<string | null> {
    const { environment } = this.task
    if (await exists(join(environment.dir, 'docker-compose.yaml')))
      throw new UserError('it has a compose file, which this command does not pin', 'pin its images manually')
    if (environment.dockerImage !== undefined) return `it uses the prebuilt image ${environment.dockerImage}`
    return text === null ? 'it has no Dockerfile' : null
  }

  /** A FROM alone is only worth building if digests can be found out. */
  private isWorthBuilding({ pinnable }: Found): boolean {
    const knowsImages = this.spine.provider.imageDigest !== undefined
    return pinnable.some(({ question }) => question !== null || knowsImages)
  }

  private decide(found: Found, known: Known): void {
    const { pins, left } = decidePins(found, known)
    this.pins = pins
    this.left = left
  }

  /** Builds the task unchanged and reads the installed versions; returns why they cannot be used, or null. */
  private async lookUp(found: Found): Promise<string | null> {
    const { spine, task, options } = this
    return withSandbox(task, spine, this.workDir, async (lease) => {
      const standIn = lease.facts.notes.find(isStandInNote)
      if (standIn !== undefined && !options.trustStandIn)
        return `${standIn}; its versions may differ from those of the real image (--trust-stand-in uses them anyway)`
      this.decide(found, await askSandbox(found, lease, spine.provider, spine.signal))
      return null
    })
  }

  /** Why a task does not hold, or null. Without checks it still must build and start. */
  private async whyNotSound(task: Task, step: string): Promise<string | null> {
    const dir = join(this.workDir, step)
    if (this.options.check) {
      const report = await checkTask(task, this.spine, dir)
      return report.verdict === 'accepted' ? null : firstReason(report)
    }
    return withSandbox(task, this.spine, dir, async () => null).catch((error: unknown) => {
      if (error instanceof BoundaryError) return error.message
      throw error
    })
  }

  private async prove(text: string): Promise<PinReport> {
    const { task, options } = this
    const dir = join(this.workDir, 'pinned')
    await copyPinned(task, renderPinned(text, this.pins), dir)
    const pinned = await loadTask(dir, { allowNoTests: true })
    const broken = await this.whyNotSound(pinned, 'after')
    if (broken !== null) return this.save(task.dir, 'kept', `it fails tasks check once pinned: ${broken}`)
    if (options.target !== null) return this.save(dir, 'pinned', null)
    await pinInPlace(dir, task.dir)
    return this.report('pinned', null, { dir: task.dir, digest: pinned.digests.content })
  }

  private unchanged(reason: string | null): Promise<PinReport> {
    return this.save(this.task.dir, 'unchanged', reason)
  }

  /** If copies are requested, every task that holds gets one. */
  private async save(source: string, status: PinStatus, reason: string | null): Promise<PinReport> {
    const { target, dryRun } = this.options
    if (target === null || dryRun) return this.report(status, reason)
    await copyTo(source, target)
    const { digests } = await loadTask(target, { allowNoTests: true })
    return this.report(status, reason, { dir: target, digest: digests.content })
  }
}
