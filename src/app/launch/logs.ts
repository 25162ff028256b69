import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Submission } from '../../core/launch.ts'
import type { StoredLaunch } from '../../run/launch/journal.ts'

/** Which logs to read, and how much of each. */
export interface LogsAsked {
  /** Only this job. */
  readonly job?: string | undefined
  /** Only this task of an array. */
  readonly task?: number | undefined
  /** At most this many bytes from the end of each file (default: 20,000). */
  readonly bytes?: number | undefined
}

export interface LogTail {
  readonly path: string
  readonly text: string
}

/** Yields the end of each job's output. */
export async function* readLogs(
  { launch, submissions }: StoredLaunch,
  { job, task, bytes = 20_000 }: LogsAsked,
): AsyncGenerator<LogTail, void> {
  const dir = join(launch.experimentsDir, 'logs')
  const names = (await readdir(dir).catch(() => [])).sort()
  for (const { name, jobName } of launch.jobs.filter(({ name }) => job === undefined || name === job)) {
    const own = submissions.filter((submission) => submission.job === name)
    for (const file of names.filter((each) => belongs(each, jobName, own, task)))
      yield { path: join(dir, file), text: await tail(join(dir, file), bytes) }
  }
}

/** `NAME_ID.out`, `NAME_ID_TASK.out`, or `NAME.out` without a scheduler. */
function belongs(file: string, jobName: string, own: readonly Submission[], task: number | undefined): boolean {
  if (!file.startsWith(jobName)) return false
  const [, id, of] = /^(?:_(\d+)(?:_(\d+))?)?\.out$/.exec(file.slice(jobName.length)) ?? [null]
  if (id === undefined && file !== `${jobName}.out`) return false
  return (
    (id === undefined || own.some((each) => each.id === id)) &&
    (task === undefined || of === undefined || Number(of) === task)
  )
}

async function tail(path: string, bytes: number): Promise<string> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const from = Math.max(0, size - bytes)
    const { buffer, bytesRead } = await file.read({ position: from, buffer: Buffer.alloc(size - from) })
    return buffer.toString('utf8', 0, bytesRead).replaceAll(/\r\n?/g, '\n')
  } finally {
    await file.close()
  }
}
