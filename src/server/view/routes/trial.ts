import { viewTrial } from '../../../app/view/view-trial.ts'
import { askedJob, askedTrialDir, type ViewRoute } from '../route.ts'

/** `/api/jobs/JOB/trials/TRIAL`: everything about a trial except its long files. */
export const trial: ViewRoute = async (asked) => {
  await askedTrialDir(asked)
  return viewTrial(asked.library, await askedJob(asked), asked.names[1] ?? '')
}
