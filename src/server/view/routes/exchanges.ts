import { askedTrialDir, type ViewRoute, wholeOf } from '../route.ts'

/** `/api/jobs/JOB/trials/TRIAL/exchanges?folder=&call=`: the model calls of a trial, or one of them verbatim. */
export const exchanges: ViewRoute = async (asked) => {
  const dir = await askedTrialDir(asked)
  const folder = asked.query.get('folder') ?? 'agent'
  const call = wholeOf(asked.query, 'call', -1, Number.MAX_SAFE_INTEGER)
  return call < 0 ? asked.exchanges.calls(dir, folder) : asked.exchanges.exchange(dir, folder, call)
}
