import { previousRun } from '../../../app/view/previous-run.ts'
import { runForm } from '../../../app/view/run-form.ts'
import type { StartedRuns } from '../../../app/view/started-runs.ts'
import { UserError } from '../../../core/errors.ts'
import { type NewRun, newRunSchema, type RunPreview } from '../../../core/new-run.ts'
import type { ViewAsked, ViewRoute } from '../route.ts'
import { Refused, readWrite, refuseWithoutKey } from '../write-access.ts'

/** `/api/runs`: the runs this server started. */
export const startedRuns: ViewRoute = async (asked) => {
  const runs = readable(asked)
  return { runs: await runs.list(await asked.library.idsByDir()) }
}

/** `/api/runs/form`: the initial values of the new-run page. */
export const newRunForm: ViewRoute = async (asked) => {
  readable(asked)
  return runForm(asked.library)
}

/** `/api/runs/from/JOB`: an earlier job as a request for a new run. */
export const runFromJob: ViewRoute = async (asked) => {
  readable(asked)
  return previousRun(await asked.library.jobDir(asked.names[0] ?? ''))
}

/** POST `/api/runs/preview`: the command for a draft, or what is wrong with the draft. Starts nothing. */
export const previewRun: ViewRoute = async (asked): Promise<RunPreview> => {
  const { runs, value } = await written(asked)
  const parsed = newRunSchema.safeParse(value)
  return {
    command: parsed.success ? runs.commandOf(parsed.data) : null,
    problems: parsed.success ? [] : problemsIn(parsed.error.issues),
  }
}

/** POST `/api/runs`: starts a run. */
export const startRun: ViewRoute = async (asked) => {
  const { runs, value } = await written(asked)
  return { id: await runs.start(parsedRun(value)) }
}

/** POST `/api/runs/ID/stop`: stops a run this server started. */
export const stopRun: ViewRoute = async (asked) => {
  const { runs } = await written(asked)
  runs.stop(asked.names[0] ?? '')
  return {}
}

function readable({ message, writer }: ViewAsked): StartedRuns {
  refuseWithoutKey(message, writer?.key ?? null)
  if (!writer) throw new Refused(403, 'this server is read-only')
  return writer.runs
}

async function written(asked: ViewAsked): Promise<{ runs: StartedRuns; value: unknown }> {
  const value = await readWrite(asked.message, asked.writer?.key ?? null)
  return { runs: readable(asked), value }
}

function parsedRun(value: unknown): NewRun {
  const parsed = newRunSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const [first = { field: '', message: 'expected a run' }] = problemsIn(parsed.error.issues)
  throw new UserError(`${first.field}: ${first.message}`, 'change the field and start again')
}

function problemsIn(issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[]) {
  return issues.slice(0, 10).map(({ path, message }) => ({ field: String(path[0] ?? 'request'), message }))
}
