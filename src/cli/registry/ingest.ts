import { Command } from '@commander-js/extra-typings'
import { jobPaths } from '../../app/jobs/find-job.ts'
import { type Ingested, type IngestResult, ingest } from '../../app/registry/ingest.ts'
import { oneLine } from '../../lib/visible.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { makeTicker } from '../ticker.ts'
import { jobsDirOption } from '../traces/options.ts'
import { registryEnvOption, registryOption } from './place.ts'

/** `ot-agent registry ingest`: adds jobs, datasets and trained models to the registry. */
export default () =>
  new Command()
    .description(
      'Registers jobs with their trials, datasets of traces, recipe runs and trained models (run_summary.json).\n' +
        'Existing entries are left alone, so the same command finishes an interrupted ingestion.',
    )
    .argument('<paths...>', 'jobs, directories of jobs, datasets, runs of recipes, or summaries of training runs')
    .addOption(jobsDirOption())
    .option('--benchmark <name>', 'benchmark that the jobs ran, NAME or NAME@VERSION (default: from their trials)')
    .option('--model <name>', 'model that the jobs used (default: from their trials)')
    .option('--name <name>', 'name of the dataset (default: the name of its recipe or directory)')
    .option('--traces <dataset>', 'where the traces of the jobs were uploaded: org/name on the Hub, or a URL')
    .option('--weights <place>', 'where the weights of the models are: org/name on the Hub, a path or a URL')
    .option('--public', 'on PostgreSQL: make the entries visible to readers without an account')
    .addOption(registryOption())
    .addOption(registryEnvOption())
    .option('--json', 'print the result as JSON')
    .action(async (given, { jobsDir, public: isPublic, json, ...rest }) => {
      const interrupt = interruptSignal()
      try {
        const running = ingest(
          { from: await jobPaths(given, jobsDir), isPublic, ...rest },
          { signal: interrupt.signal },
        )
        const tick = makeTicker()
        for await (const { path, trials } of running) tick(`${oneLine(path)}: ${trials} trials`)
        report(await running, json ?? false)
      } finally {
        interrupt.stop()
      }
    })

function report(result: IngestResult, json: boolean): void {
  for (const { path, why } of result.broken) note(`${oneLine(path)} was skipped: ${oneLine(why)}`)
  if (result.broken.length > 0) process.exitCode = 3
  if (json) printJson(result)
  else for (const one of result.ingested) process.stdout.write(`${oneLine(lineOf(one))}\n`)
}

function lineOf(one: Ingested): string {
  if (one.kind === 'dataset') return `dataset ${one.name}`
  if (one.kind === 'model') {
    const places = [one.weightsLocation && `weights: ${one.weightsLocation}`, one.wandbLink && `run: ${one.wandbLink}`]
    return [`model ${one.name}`, ...places.filter(Boolean)].join('; ')
  }
  const scores = one.runs.map(({ model, agent, benchmark, accuracy }) => {
    const score = accuracy === null ? 'not scored' : `${(accuracy * 100).toFixed(1)} %`
    return `${model ?? agent} on ${benchmark}: ${score}`
  })
  return `job ${one.name}: ${one.added} of ${one.trials} trials are new; ${scores.join('; ') || 'no trials yet'}`
}
