import type { LaunchJob } from '../../core/launch.ts'

/**
 * The jobs to cancel together with one job: itself, those that run only if it succeeds, and servers that no job needs
 * any more. `isActive` says whether a job is waiting or running.
 */
export function cancelledWith(
  jobs: readonly Pick<LaunchJob, 'name' | 'after'>[],
  first: string,
  isActive: (job: string) => boolean,
): ReadonlySet<string> {
  const stopped = new Set([first])
  for (let before = 0; before < stopped.size; ) {
    before = stopped.size
    for (const { name, after } of jobs) {
      const cannotRun = after.some(({ job, when }) => when === 'ok' && stopped.has(job))
      const users = jobs.filter((each) => each.after.some(({ job, when }) => when === 'started' && job === name))
      const hasLostUser = users.some((each) => stopped.has(each.name))
      const isNeeded = users.some((each) => isActive(each.name) && !stopped.has(each.name))
      if (cannotRun || (hasLostUser && !isNeeded)) stopped.add(name)
    }
  }
  return stopped
}
