import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { ScheduledState, Scheduler, Submission, SubmissionRequest } from '../../core/launch.ts'
import { definePlugin } from '../../core/plugin.ts'
import { withoutSecrets } from '../../core/without-secrets.ts'
import { identify } from '../../lib/process-identity.ts'
import { signalGroup, spawnProcess } from '../../lib/spawn-process.ts'
import { driveScript, renderBash } from '../shared/drive-script.ts'

/** This machine without a scheduler: every job is a process that waits for the ones before it. */
export default definePlugin({
  name: 'local',
  summary: 'This machine, without a scheduler',
  options: z.strictObject({}),
  make: (_options, { env }): Scheduler => ({
    name: 'local',
    render: renderBash,
    describe: ({ scriptPath, link }) => (link === 0 ? ['bash', scriptPath] : []),
    submit: (request) => start(request, withoutSecrets(env)),
    states: async (submissions) => submissions.flatMap(stateOf),
    cancel: async (submissions) => {
      for (const { id } of submissions) if (isAlive(id)) signalGroup(Number(id.split(':')[0]), 'SIGTERM')
    },
  }),
})

/** Starts a detached process that drives a job through its dependencies, tasks and restarts. */
async function start(
  { job, launch, link, scriptPath, tasks }: SubmissionRequest,
  env: Record<string, string>,
): Promise<string> {
  // Restarts are a loop here, inside the first link.
  if (link > 0) return 'local'
  const log = openSync(join(launch.experimentsDir, 'logs', `${job.jobName}.out`), 'a')
  const driver = driveScript(job, launch, scriptPath, tasks)
  const child = await spawnProcess('bash', ['-c', driver], {
    env,
    cwd: launch.experimentsDir,
    detached: true,
    stdio: ['ignore', log, log],
  }).finally(() => closeSync(log))
  child.unref()
  const { pid = 0 } = child
  return `${pid}:${identify(pid)?.startTicks ?? endedAlready}`
}

/** Stands for the start time of a job that ended before it could be read; no process has it. */
const endedAlready = 'ended'

/** Only whether a job runs can be seen here; how it ended is in its marks. */
function stateOf({ id }: Submission): ScheduledState[] {
  return isAlive(id) ? [{ id, task: null, state: 'running', reason: `process ${id.split(':')[0]}` }] : []
}

/**
 * A cancelled job's driver can end before its script has written its exit code, so a job is alive while any process of
 * its group is.
 */
function isAlive(id: string): boolean {
  const [pid, startTicks] = id.split(':')
  if (startTicks === undefined) return false
  const leader = identify(Number(pid))
  return leader === null ? signalGroup(Number(pid), 0) : leader.startTicks === startTicks
}
