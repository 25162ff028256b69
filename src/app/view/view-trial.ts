import type { TrialRecord } from '../../core/trial.ts'
import type { ViewTrial } from '../../core/view.ts'
import { programName } from '../../lib/program-name.ts'
import { shellQuote } from '../../lib/shell.ts'
import { readFinishedTrial } from '../../store/harbor-layout.ts'
import { notesOf } from '../jobs/trial-row.ts'
import type { Library } from './library.ts'
import { type LibraryJob, NotHere } from './library-job.ts'
import { testsOf } from './tests-of.ts'
import { listFiles } from './trial-dir-files.ts'
import { whyEnded } from './why-ended.ts'

/** Everything about a trial except its long files. */
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
    {
      title: 'Show the trial in a terminal',
      command: `${programName()} jobs show ${dir} --trial ${shellQuote(trial)}`,
    },
    {
      title: 'Print its trajectory',
      command: `${programName()} traces show ${shellQuote(`${job.there.dir}/${trial}`)}`,
    },
  ]
  if (record?.end.kind !== 'failed') return commands
  const again = `${programName()} jobs retry ${dir} --only ${shellQuote(record.end.failure.code)}`
  return [...commands, { title: 'Run trials that failed like this one again', command: again }]
}
