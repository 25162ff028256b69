import { refuseUnjudgedTasks } from '../../app/generate/lacks-judge.ts'
import type { LoadedPipeline } from '../../app/generate/load-pipeline.ts'
import type { GenerateOptions } from '../../app/generate/options.ts'
import { performGeneration, requestOf } from '../../app/generate/perform-generation.ts'
import { interruptSignal } from '../interrupt.ts'
import { note } from '../output.ts'
import { confirmAtTerminal } from '../run/confirm.ts'
import { showTrials } from '../run/run-asked-job.ts'
import { tellPlan } from './plan.ts'
import { reportGeneration } from './report.ts'

/** Runs a pipeline as the command line asks: request, model, sandboxes, stages, summary, exit code. */
export async function runGenerate(loaded: LoadedPipeline, asked: GenerateOptions): Promise<void> {
  const { pipeline } = loaded
  // Packed tasks are made already: what is left is to run agents over them.
  const options = asked.fromParquet === undefined ? asked : { ...asked, stage: 'traces' as const }
  if (options.source === 'fixture' && options.stage !== 'traces' && pipeline.source.real !== null)
    note(`rows come from the fixture of ${pipeline.name}, a few made up to try it out; --source real uses its source`)
  const interrupt = interruptSignal()
  try {
    if (options.dryRun) {
      const request = requestOf(loaded, options)
      await refuseUnjudgedTasks(loaded, request, options)
      return await tellPlan(request, options, interrupt.signal)
    }
    const { summary, request } = await performGeneration(loaded, options, {
      notify: note,
      signal: interrupt.signal,
      watch: showTrials({ quiet: options.quiet ?? false }),
      confirm: confirmAtTerminal(),
    })
    reportGeneration(summary, request, options.json ?? false)
  } finally {
    interrupt.stop()
  }
}
