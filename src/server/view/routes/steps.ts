import { askedTrialDir, type ViewRoute, wholeOf } from '../route.ts'

/** `/api/jobs/JOB/trials/TRIAL/steps?file=&offset=&limit=`: steps of a trajectory. */
export const steps: ViewRoute = async (asked) => {
  const dir = await askedTrialDir(asked)
  const offset = wholeOf(asked.query, 'offset', 0, Number.MAX_SAFE_INTEGER)
  const file = asked.query.get('file') ?? 'agent/trajectory.json'
  return asked.trajectories.read(dir, file, offset, wholeOf(asked.query, 'limit', 50, 200))
}
