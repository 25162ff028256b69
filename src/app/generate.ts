import { loadPipeline } from './generate/load-pipeline.ts'
import { type PipelineArgs, parsePipelineArgs } from './generate/options.ts'
import { performGeneration } from './generate/perform-generation.ts'
import type { GenerationSummary } from './generate/summary.ts'
import type { RunControl } from './run-tasks.ts'
import { Running } from './running.ts'

export type { GenerationRequest, GenerationResult } from '../run/pipeline/request.ts'
export type { GenerationSummary } from './generate/summary.ts'

/**
 * Runs a data pipeline, given by its name under data/ or its file, like `ot-agent generate`. The request holds that
 * command's flags without dashes, `{ limit: 10, stage: 'both', outputDir: 'out' }`, and the pipeline's own options.
 */
export function generate(
  pipeline: string,
  request: PipelineArgs = {},
  control: RunControl = {},
): Running<string, GenerationSummary> {
  return new Running(async (emit) => {
    const loaded = await loadPipeline(pipeline)
    const options = parsePipelineArgs(pipeline, request, loaded.pipeline.options)
    const signal = control.signal ?? new AbortController().signal
    return (await performGeneration(loaded, options, { notify: emit, signal })).summary
  })
}
