import { rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { hadNoValidReply } from '../../core/model-replies.ts'
import type { TrialRecord } from '../../core/trial.ts'
import type { TasksRequest } from '../job/tasks-request.ts'
import { type RunControl, runTasks } from '../run-tasks.ts'
import type { PreflightCheck } from './preflight.ts'

/** Where smoke trials are kept while they run, and after a failure. */
const smokeDir = '.smoke'

/** Runs the first task once and discards the trial. An infrastructure failure, or no valid reply, is a UserError. */
export async function smokeTrial(
  request: TasksRequest,
  { tasks, jobsDir }: { readonly tasks: number; readonly jobsDir: string },
  control: RunControl,
): Promise<PreflightCheck> {
  const records: TrialRecord[] = []
  const run = runTasks(
    {
      ...request,
      share: { index: 0, of: tasks },
      attempts: 1,
      jobsDir: join(jobsDir, smokeDir),
      jobName: undefined,
    },
    control,
  )
  for await (const event of run) if (event.kind === 'trial-end') records.push(event.record)
  const { jobDir } = await run
  control.signal?.throwIfAborted()
  for (const record of records) refuseBroken(record, jobDir)
  await rm(jobDir, { recursive: true, force: true })
  // The directory may hold other smoke trials: of running evaluations, or failed ones.
  await rmdir(dirname(jobDir)).catch(() => {})
  const [first] = records
  return { name: 'smoke trial', says: `${first?.task.name ?? 'none'} was scored` }
}

function refuseBroken(record: TrialRecord, jobDir: string): void {
  const { end } = record
  const hint = `ot-agent jobs show ${jobDir} says more; --no-smoke skips the smoke trial`
  if (end.kind === 'failed') {
    const { boundary, code, message } = end.failure
    throw new UserError(`the smoke trial failed at the ${boundary}: ${code}: ${message.split('\n')[0]}`, hint, 3)
  }
  if (hadNoValidReply(record))
    throw new UserError(`the smoke trial got no usable reply from ${record.agent.model}`, hint, 3)
}
