import { utcNow } from '../../lib/time.ts'
import { version } from '../../lib/version.ts'
import type { GenerationRequest, GenerationResult } from '../../run/pipeline/request.ts'
import type { GenerationOutcome } from '../../run/pipeline/run-generation.ts'
import type { LoadedPipeline } from './load-pipeline.ts'

/** The summary of a run: summary.json, and the output of `--json`. */
export interface GenerationSummary {
  readonly schema: 'generation/1'
  readonly pipeline: string
  readonly code: string
  readonly program: string
  readonly stage: GenerationRequest['stage']
  readonly source: GenerationRequest['source']
  readonly seed: number
  readonly limit: number | null
  readonly options: GenerationRequest['options']
  readonly status: GenerationResult['status']
  readonly startedAt: string
  readonly finishedAt: string
  readonly outputDir: string
  readonly tasks: GenerationResult | null
  readonly traces: GenerationResult | null
}

export function summaryOf(
  { pipeline, digest }: LoadedPipeline,
  request: GenerationRequest,
  { tasks, traces }: GenerationOutcome,
  startedAt: string,
): GenerationSummary {
  const { stage, source, seed, limit, options, outputDir } = request
  const states = [tasks, traces].map((result) => result?.status ?? 'success')
  const status = states.find((state) => state === 'failed') ?? states.find((state) => state === 'partial') ?? 'success'
  return {
    schema: 'generation/1',
    ...{ pipeline: pipeline.name, code: digest, program: version() },
    ...{ stage, source, seed, limit, options, status, startedAt, finishedAt: utcNow(), outputDir, tasks, traces },
  }
}
