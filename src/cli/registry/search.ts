import { Command, Option } from '@commander-js/extra-typings'
import { several, wholeNumber } from '../../app/flags/values.ts'
import {
  csvLine,
  type FoundRun,
  findLeaders,
  findMatrix,
  findRuns,
  findSummaries,
  type Matrix,
} from '../../app/registry/query.ts'
import { printJson, printTable } from '../output.ts'
import { registryEnvOption, registryOption } from './place.ts'

const views = ['runs', 'summary', 'leaderboard', 'matrix'] as const

/** `ot-agent registry search`: finds runs and their results. */
export default () =>
  new Command()
    .description(
      'Finds runs by parts of the names of their job, model, agent or benchmark, newest first.\n' +
        'Other views: `summary` combines the finished runs of each model, `leaderboard` ranks the newest finished runs, and ' +
        '`matrix` shows models by benchmarks. Partial runs have no rank.',
    )
    .argument('[words...]', 'parts of names; a run must match all of them')
    .option('-x, --exclude <text>', 'exclude runs with this in one of those names; repeatable', several)
    .addOption(new Option('--view <view>', 'what to show').choices(views).default('runs'))
    .option('--model <text>', 'part of the model name')
    .option('--benchmark <text>', 'part of the benchmark name; the full name for --view leaderboard and matrix')
    .option('--agent <text>', 'part of the agent name')
    .addOption(
      new Option('--status <status>', 'only runs with this status').choices([
        'started',
        'partial',
        'finished',
      ] as const),
    )
    .option('--limit <n>', 'maximum number of runs to show', wholeNumber(1), 100)
    .addOption(registryOption())
    .addOption(registryEnvOption())
    .option('--csv', 'print CSV')
    .option('--json', 'print JSON')
    .action(async (words, { view, csv = false, json = false, registry, registryEnv, ...rest }) => {
      const place = { registry, registryEnv }
      const show = { csv, json }
      const filter = { words, ...rest }
      if (view === 'matrix') return showMatrix(await findMatrix(place, filter), show)
      if (view === 'summary') return showRows(await findSummaries(place, filter), show)
      if (view === 'leaderboard') return showRuns(await findLeaders(place, filter), show)
      return showRuns(await findRuns(place, filter), show)
    })

interface Form {
  readonly csv: boolean
  readonly json: boolean
}

type Cell = string | number | null

/** Prints the columns of OpenThoughts-Agent's detailed CSV first, then ours. */
function showRuns(runs: readonly FoundRun[], form: Form): void {
  if (form.json) {
    printJson({ schema: 'registry-runs/1', runs })
    return
  }
  const rows = runs.map(({ job_id, model_id, model_name, accuracy, accuracy_stderr, job_name, ...rest }) => ({
    ...(form.csv ? { job_id, model_id } : {}),
    model_name,
    accuracy,
    std: accuracy_stderr,
    job_name,
    benchmark: rest.benchmark_name,
    agent: rest.agent_name,
    status: rest.job_status,
    trials: rest.n_trials,
    failed: rest.n_failed,
    ...(form.csv ? rest : {}),
  }))
  showRows(rows, form)
}

function showRows(rows: readonly Readonly<Record<string, Cell>>[], { csv, json }: Form): void {
  if (json) {
    printJson({ schema: 'registry-rows/1', rows })
    return
  }
  const header = Object.keys(rows[0] ?? {})
  if (csv) {
    if (rows.length > 0) process.stdout.write(csvLine(header))
    for (const row of rows) process.stdout.write(csvLine(header.map((name) => row[name])))
    return
  }
  if (rows.length === 0) process.stdout.write('no matching runs\n')
  else
    printTable(
      header,
      rows.map((row) => header.map((name) => shown(row[name] ?? null))),
    )
}

function showMatrix(matrix: Matrix, { csv, json }: Form): void {
  if (json) {
    printJson({ schema: 'registry-matrix/1', ...matrix })
    return
  }
  const header = ['model', ...matrix.benchmarks]
  if (!csv) {
    const cell = (run: FoundRun | null) =>
      run === null ? '-' : `${shown(run.accuracy)} ± ${shown(run.accuracy_stderr)} (SE)`
    printTable(
      header,
      matrix.models.map(({ name, cells }) => [name, ...cells.map(cell)]),
    )
    return
  }
  process.stdout.write(csvLine(header))
  for (const { name, cells } of matrix.models)
    process.stdout.write(csvLine([name, ...cells.map((run) => run?.accuracy ?? null)]))
}

function shown(cell: Cell): string {
  if (cell === null) return '-'
  return typeof cell === 'number' && !Number.isInteger(cell) ? cell.toFixed(3) : String(cell)
}
