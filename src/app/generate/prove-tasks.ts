import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Judge } from '../../core/judge.ts'
import type { SandboxProvider } from '../../core/sandbox.ts'
import type { Task } from '../../core/task.ts'
import { makeAgent, sandboxAlternatives } from '../../plugins/make.ts'
import type { Opinion } from '../../run/check/check-request.ts'
import { checkTask, type TaskReport } from '../../run/check/check-task.ts'
import type { Proof } from '../../run/pipeline/task-stages.ts'
import { unnamedRefusal } from '../job/consent.ts'

export interface Proving {
  readonly provider: SandboxProvider
  readonly sandboxOptions: Readonly<Record<string, unknown>>
  readonly repeats: number
  readonly startOnly?: boolean | undefined
  readonly retries?: number | undefined
  /** For tasks that a model judges. */
  readonly judge?: Judge | undefined
  /** Absent: no second opinion. */
  readonly opinion?: Opinion | undefined
  /** Variables of this machine that tasks may use. */
  readonly passEnv?: readonly string[] | undefined
  readonly workDir: string
  readonly signal: AbortSignal
}

/** Proves tasks one at a time, like `tasks check`; a failed check becomes the reason for leaving a task out. */
export async function makeProver(proving: Proving): Promise<(task: Task) => Promise<Proof>> {
  const { workDir, passEnv, ...rest } = proving
  const request = {
    ...rest,
    makeAgent,
    alternatives: sandboxAlternatives,
    hostEnv: process.env,
    lintOnly: false,
  }
  return async (task) => {
    const refused = unnamedRefusal(task, { passEnv })
    if (refused !== null) return { verdict: 'rejected', reason: 'host-variables', detail: refused }
    const dir = join(workDir, randomUUID())
    try {
      return proofOf(await checkTask(task, request, dir))
    } finally {
      await rm(dir, { recursive: true, force: true })
    }
  }
}

function proofOf({ verdict, checks }: TaskReport): Proof {
  const telling = checks.find(({ outcome }) => outcome === (verdict === 'rejected' ? 'fail' : 'unknown'))
  const reason = verdict === 'unknown' ? 'unverified' : `check-${telling?.name ?? verdict}`
  return { verdict, reason, detail: telling?.reasons.join('; ') ?? '' }
}
