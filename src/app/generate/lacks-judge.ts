import { readFile } from 'node:fs/promises'
import { judgeFileName } from '../../core/judge.ts'
import type { TaskDraft } from '../../core/row.ts'
import { isAgentConfig } from '../../formats/agent-config.ts'
import { parseJobConfig } from '../../formats/harbor-job/job-config.ts'
import { readDocument } from '../../formats/harbor-job/read-document.ts'
import { orUserError } from '../../formats/harbor-task/read.ts'
import { asksModel } from '../../run/pipeline/pipeline.ts'
import type { GenerationRequest } from '../../run/pipeline/request.ts'
import { unjudged } from '../job/judge.ts'
import { judgeSettingsOf } from '../job/model-flags.ts'
import type { LoadedPipeline } from './load-pipeline.ts'
import type { GenerateOptions } from './options.ts'

/** Throws for a draft that this run could neither prove nor run. */
export type RefuseDraft = (draft: TaskDraft) => void

/**
 * Refuses to make model-judged tasks without a judge: right away if the pipeline declares them, otherwise at the first
 * one. What was made until then is kept, and the same command with a judge continues.
 */
export async function refuseUnjudgedTasks(
  { pipeline }: LoadedPipeline,
  request: GenerationRequest,
  options: GenerateOptions,
): Promise<RefuseDraft> {
  if (judgeSettingsOf(options) || request.stage === 'traces') return () => {}
  // While tasks are made, the pipeline's own model judges them if no judge is named.
  const unproven = request.check && !asksModel(pipeline, request.options)
  const unscored = request.stage === 'both' && (await runsTests(options))
  if (!unproven && !unscored) return () => {}
  if (pipeline.judged) throw unjudged(`tasks of ${pipeline.name} are`)
  return ({ name, files }) => {
    if (Object.keys(files).some(isRubric)) throw unjudged(`task ${name} is`)
  }
}

/** The rubric of a task, or of one of its steps. */
function isRubric(path: string): boolean {
  return /^(steps\/[^/]+\/)?tests\/[^/]+$/.test(path) && path.endsWith(`/${judgeFileName}`)
}

/** Whether agents' work is scored. */
export async function runsTests(asked: {
  readonly disableVerification?: boolean | undefined
  readonly traceHarborConfig?: string | undefined
}): Promise<boolean> {
  const { disableVerification, traceHarborConfig: path } = asked
  if (disableVerification) return false
  if (path === undefined) return true
  const text = await orUserError(path, () => readFile(path, 'utf8'))
  const document = readDocument(text, path)
  return isAgentConfig(document) || !parseJobConfig(document, { path }).config.verifier.disable
}
