import { join } from 'node:path'
import { describePacked, packedTasksOf } from '../../app/generate/from-parquet.ts'
import { refuseUnjudgedTasks } from '../../app/generate/lacks-judge.ts'
import type { LoadedPipeline } from '../../app/generate/load-pipeline.ts'
import type { GenerateOptions } from '../../app/generate/options.ts'
import { performGeneration, requestOf } from '../../app/generate/perform-generation.ts'
import type { GenerationRequest } from '../../app/generate.ts'
import { megabytes } from '../../lib/show-numbers.ts'
import { oneLine } from '../../lib/visible.ts'
import { howToContinue, interruptSignal } from '../interrupt.ts'
import { note, printJson } from '../output.ts'
import { makeStageProgress } from '../progress/stage-progress.ts'
import { confirmAtTerminal } from '../run/confirm.ts'
import { reportGeneration } from './report.ts'

/** Runs a pipeline from the command line: request, model, sandboxes, stages, summary, exit code. */
export async function runGenerate(loaded: LoadedPipeline, asked: GenerateOptions): Promise<void> {
  const { pipeline } = loaded
  // Packed tasks are already made; what remains is to run agents on them.
  const options = asked.fromParquet === undefined ? asked : { ...asked, stage: 'traces' as const }
  if (options.source === 'fixture' && options.stage !== 'traces' && pipeline.source.real !== null)
    note(
      `rows come from the fixture of ${pipeline.name}, a few rows made up for a first try; --source real uses its real source`,
    )
  const interrupt = interruptSignal()
  const progress = makeStageProgress({ screen: process.stderr, quiet: options.quiet ?? false })
  const confirm = confirmAtTerminal()
  try {
    if (options.dryRun) {
      const request = requestOf(loaded, options)
      await refuseUnjudgedTasks(loaded, request, options)
      return await tellPlan(request, options, interrupt.signal)
    }
    const { summary, request } = await performGeneration(loaded, options, {
      notify: progress.tell,
      signal: interrupt.signal,
      watch: progress.watchTrials,
      confirm: confirm && ((question) => progress.hold(() => confirm(question))),
      stages: progress,
    })
    progress.stop()
    reportGeneration(summary, request, options.json ?? false)
  } catch (error) {
    progress.stop()
    if (interrupt.signal.aborted && !options.dryRun) note(howToContinue(options.overwrite ? '--overwrite' : null))
    throw error
  } finally {
    progress.stop()
    interrupt.stop()
  }
}

/** Reports what a command line would do, without writing anything. */
async function tellPlan(request: GenerationRequest, options: GenerateOptions, signal: AbortSignal): Promise<void> {
  const asked = packedTasksOf(options)
  const packed = asked && (await describePacked(asked, signal))
  const { stage, source, limit, seed, outputDir, upload, targetRepo, trace } = request
  const target = upload ? targetRepo : null
  if (options.json) {
    printJson({ schema: 'generation-plan/1', stage, source, limit, seed, outputDir, target, packed, trace })
    return
  }
  const lines = [
    ...(packed ? [`would unpack ${shown(packed)} into ${join(outputDir, 'tasks_extracted')}`] : []),
    ...(stage === 'traces'
      ? []
      : [
          `would make ${limit === null ? '' : `at most ${limit} `}tasks from ${source.kind === 'file' ? source.path : `the ${source.kind} source`} in ${outputDir}`,
        ]),
    ...(stage === 'tasks'
      ? []
      : [
          `would run ${trace.agent}${trace.model === null ? '' : ` with ${trace.model}`}, ${trace.nConcurrent} at once, in ${outputDir}`,
        ]),
    target === null ? 'would publish nothing' : `would publish to ${target}`,
  ]
  process.stdout.write(`${lines.map(oneLine).join('\n')}\n`)
}

function shown({ file, tasks, repository, commit, files, bytes }: Readonly<Record<string, unknown>>): string {
  if (file !== undefined) return `${tasks} tasks of ${file}`
  const names = Array.isArray(files) ? files : []
  const some = `${names.slice(0, 3).join(', ')}${names.length > 3 ? `, ... (${names.length} files)` : ''}`
  return `${some} (${megabytes(Number(bytes))}) of ${repository} at ${String(commit).slice(0, 12)}`
}
