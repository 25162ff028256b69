import { basename } from 'node:path'
import { jobRequestOf, loadEnvFile } from '../../app/flags/job-request.ts'
import { evalOptions } from '../../app/flags/run-options.ts'
import { wholeNumber } from '../../app/flags/values.ts'
import { checkTracesTarget, publishTraces, type TracesTarget } from '../../app/publish-traces.ts'
import { type IngestRequest, ingest } from '../../app/registry/ingest.ts'
import { registryAddress } from '../../app/registry/open.ts'
import { type EvaluationEvent, runEvaluation } from '../../app/run-evaluation.ts'
import { isAbort, messageOf } from '../../core/errors.ts'
import { programName } from '../../lib/program-name.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { makeProgress, type Progress } from '../progress/progress.ts'
import { makeTally } from '../progress/tally.ts'
import { registryEnvOption, registryOption } from '../registry/place.ts'
import { checkOutputFile, writeOutputFile } from '../run/output-file.ts'
import { maxFailedOption } from './options.ts'
import { printPage } from './page.ts'
import { writeReport } from './report.ts'
import { reportPage } from './report-page.ts'

/** `ot-agent eval run`: runs a model on a benchmark and reports its accuracy with an interval. */
export default () =>
  evalOptions()
    .description(
      'Evaluates a model on a benchmark: checks the server, tries one task, runs the job, reruns trials without a score, and ' +
        'reports the accuracy with its interval.\n' +
        'The same command with --job-name resumes, and runs only trials without a score. Exits with 3 when the result is ' +
        'partial.',
    )
    .optionsGroup('Evaluation:')
    .option('--benchmark <name>', 'a benchmark from benchmarks list; use -p if its tasks are in another folder')
    .addOption(maxFailedOption())
    .option('--rounds <n>', 'how many times to rerun trials without a score after the job (default: 1)', wholeNumber(0))
    .option('--no-smoke', 'skip the smoke trial of one task before the job')
    .option('--min-context <tokens>', 'stop if the model has a shorter context', wholeNumber(1))
    .option('--upload-traces <dataset>', 'when done, upload the traces of the job: org/name on the Hub, or file:PATH')
    .option('--public-traces', 'make a new dataset of traces public')
    .option('--no-register', 'do not add the result to the registry')
    .addOption(registryOption())
    .addOption(registryEnvOption())
    .action(async ({ benchmark, maxFailed, rounds, smoke, minContext, register, registry, registryEnv, ...given }) => {
      const { uploadTraces, publicTraces, ...options } = given
      const { json, output, quiet = false, verbose } = options
      const fromFile = options.envFile === undefined ? [] : await loadEnvFile(options.envFile)
      if (output !== undefined) await checkOutputFile(output)
      const asked = jobRequestOf(options)
      // Report an invalid registry address before hours of work.
      if (register) registryAddress({ registry, registryEnv })
      const interrupt = interruptSignal()
      if (uploadTraces !== undefined) await checkTracesTarget(uploadTraces, interrupt.signal)
      let isSent = true
      const enterResult = async (jobDir: string) => {
        const target = uploadTraces && { repository: uploadTraces, isPrivate: !publicTraces }
        const traces = target && (await sendTraces(jobDir, target, interrupt.signal))
        isSent = traces !== null
        const link = traces && !traces.startsWith('file:') ? traces : undefined
        if (register) await enter(jobDir, { benchmark, registry, registryEnv, traces: link })
      }
      const show = makeShow(quiet, verbose)
      try {
        const run = runEvaluation(
          {
            ...asked,
            ...{ benchmark, rounds, smoke, maxFailedShare: maxFailed, minContextTokens: minContext },
            passEnv: [...fromFile, ...(asked.passEnv ?? [])],
          },
          { signal: interrupt.signal, register: ({ jobDir }) => enterResult(jobDir) },
        )
        for await (const event of run) show.event(event)
        show.stop()
        const { report, jobDir } = await run
        await writeReport(report)
        if (output !== undefined) await writeOutputFile(output, `${JSON.stringify(report, null, 2)}\n`)
        if (json) printJson(report)
        else printPage(reportPage(report.job, report.runs))
        if (!json) process.stdout.write(`\n${jobDir}/eval-report.html\n`)
        const isPartial = report.runs.length === 0 || report.runs.some(({ state }) => state === 'partial')
        process.exitCode = interrupt.signal.aborted ? 130 : isPartial || !isSent ? 3 : 0
      } finally {
        show.stop()
        interrupt.stop()
      }
    })

/**
 * Uploads the traces; null if that failed, which loses nothing: the job is on disk, and the same command sends them
 * later. Another export of the job would repeat those that the dataset has.
 */
async function sendTraces(
  jobDir: string,
  target: Pick<TracesTarget, 'repository' | 'isPrivate'>,
  signal: AbortSignal,
): Promise<string | null> {
  try {
    const { repository, rows, url, outdated } = await publishTraces({ jobDir, ...target }, signal)
    if (outdated > 0) {
      note(`warning: ${repository} has the traces of ${outdated} rescored trials with their old rewards`)
      note('hint: name a new dataset with --upload-traces to upload all traces of the job with their current rewards')
    }
    note(rows === 0 ? `${repository} has all traces of this job` : `uploaded ${rows} traces: ${url ?? repository}`)
    return repository
  } catch (error) {
    if (isAbort(error)) throw error
    note(`warning: the traces were not uploaded: ${messageOf(error)}`)
    note(`hint: run the same command with --job-name ${basename(jobDir)} to upload them`)
    return null
  }
}

/** Adds the result to the registry. If that fails, nothing is lost: the job is on disk, and can be added later. */
async function enter(jobDir: string, request: Omit<IngestRequest, 'from'>): Promise<void> {
  try {
    await ingest({ ...request, from: [jobDir] })
  } catch (error) {
    note(`warning: the result was not registered: ${messageOf(error)}`)
    note(`hint: ${programName()} registry ingest ${jobDir} registers it`)
  }
}

/** Shows events on stderr: checks and notices as lines, trials as progress. */
function makeShow(quiet: boolean, verbose = false) {
  let progress: Progress | null = null
  const stop = () => {
    progress?.stop()
    progress = null
  }
  const event = (happened: EvaluationEvent) => {
    switch (happened.kind) {
      case 'note':
        return note(happened.text)
      case 'check':
        return quiet ? undefined : note(`✓ ${happened.check.name}: ${happened.check.says}`)
      case 'smoke-start':
        return quiet ? undefined : note('smoke trial: trying one task first (--no-smoke skips this)')
      case 'job-start':
        stop()
        progress = makeProgress(makeTally(happened.trials, happened.liveStats), process.stderr, quiet, verbose)
        return undefined
      case 'trial-start':
        return progress?.started({ name: happened.trial })
      case 'trial-retry':
        return progress?.retrying(happened.record, happened.waitSec)
      case 'trial-end':
        return progress?.ended(happened.record)
    }
  }
  return { event, stop }
}
