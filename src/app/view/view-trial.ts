import { z } from 'zod'
import type { TrialRecord } from '../../core/trial.ts'
import type { ViewTest, ViewTrial } from '../../core/view.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { shellQuote } from '../../lib/shell.ts'
import { readFinishedTrial } from '../../store/harbor-layout.ts'
import { notesOf } from '../jobs/trial-row.ts'
import type { Library } from './library.ts'
import { type LibraryJob, NotHere } from './library-job.ts'
import { listFiles, readSmall } from './trial-dir-files.ts'
import { whyEnded } from './why-ended.ts'

/** Everything about a trial but its long files. */
export async function viewTrial(library: Library, job: LibraryJob, name: string): Promise<ViewTrial> {
  const row = job.index.rows.get(name) ?? job.index.running.find((each) => each.name === name)
  if (row === undefined) throw new NotHere(`job ${JSON.stringify(job.id)} has no trial ${JSON.stringify(name)}`)
  const dir = await library.trials.dirOf(job, name)
  const record = row.outcome === 'running' ? null : await readFinishedTrial(dir)
  const { files, cut } = await listFiles(dir)
  const tests = await testsOf(dir, files)
  const names = job.index.names()
  const at = names.indexOf(name)
  return {
    ...{ job: job.id, row, record, files, filesCut: cut, tests },
    why: record ? whyEnded(record, tests) : whyNotEnded(job),
    system: record ? [record, ...(record.steps ?? [])].flatMap(({ system }) => (system ? [system] : [])) : [],
    notes: record ? notesOf(record) : [],
    previous: names[at - 1] ?? null,
    next: at < 0 ? null : (names[at + 1] ?? null),
    commands: commandsFor(job, name, record),
  }
}

function whyNotEnded({ row }: LibraryJob): string {
  return row.state === 'running'
    ? 'This trial is running.'
    : 'This trial has no result: its job was stopped before the trial ended.'
}

function commandsFor(job: LibraryJob, trial: string, record: TrialRecord | null) {
  const dir = shellQuote(job.there.dir)
  const commands = [
    { title: 'Show the trial in a terminal', command: `ot-agent jobs show ${dir} --trial ${shellQuote(trial)}` },
    { title: 'Print its trajectory', command: `ot-agent traces show ${shellQuote(`${job.there.dir}/${trial}`)}` },
  ]
  const again = { title: 'Run failed trials of the job again', command: `ot-agent jobs retry ${dir}` }
  return record?.end.kind === 'failed' ? [...commands, again] : commands
}

const ctrf = z.object({
  results: z.object({
    tests: z.array(
      z.object({
        name: z.string(),
        status: z.string(),
        message: z.string().nullish(),
        trace: z.string().nullish(),
        duration: z.number().nullish(),
      }),
    ),
  }),
})
const mostTests = 2000

/** The tests in every CTRF report of a trial. */
async function testsOf(dir: string, files: ViewTrial['files']): Promise<ViewTest[]> {
  const reports = files.filter(({ path }) => /(^|\/)verifier\/ctrf\.json$/.test(path)).slice(0, 20)
  const tests: ViewTest[] = []
  for (const { path } of reports) {
    const parsed = ctrf.safeParse(parseJson((await readSmall(dir, path, 8 << 20)) ?? ''))
    for (const { name, status, message, trace, duration } of parsed.data?.results.tests ?? []) {
      if (tests.length >= mostTests) return tests
      const said = (message ?? trace ?? '').slice(0, 4000)
      // CTRF counts in milliseconds.
      const seconds = duration === null || duration === undefined ? null : duration / 1000
      tests.push({ name: name.slice(0, 500), status, message: said || null, seconds })
    }
  }
  return tests
}
