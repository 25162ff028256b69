/** The public face of the package: what examples, recipes and user plug-ins may import. */

/** For the options of a plug-in that lies where no package is installed. */
export { z } from 'zod'

export {
  type AblationEvent,
  type AblationPlan,
  type AblationReport,
  type AblationRequest,
  type AblationResult,
  planAblation,
  reportAblation,
  runAblation,
} from './app/ablate.ts'
export { type CheckEvent, type CheckRequest, checkTasks, type TaskReport } from './app/check-tasks.ts'
export {
  compareJobs,
  type EvalComparison,
  type EvalReport,
  evaluate,
  type PowerPrediction,
  type PowerRequest,
  predictComparison,
  type RunScore,
} from './app/evaluate.ts'
export { type ExportProgress, type ExportRequest, type ExportResult, exportTraces } from './app/export-traces.ts'
export { type GenerationSummary, generate } from './app/generate.ts'
export { type LaunchEvent, type LaunchPlan, type LaunchRequest, type LaunchResult, launch } from './app/launch.ts'
export {
  cancelLaunch,
  type JobStatus,
  type LaunchQuery,
  type LaunchStatus,
  launchLogs,
  launchStatus,
  listLaunches,
  resumeLaunch,
  watchLaunch,
} from './app/launches.ts'
export {
  type EvaluationControl,
  type EvaluationEvent,
  type EvaluationRequest,
  type EvaluationResult,
  runEvaluation,
} from './app/run-evaluation.ts'
export { type RecipeProgress, type RecipeRequest, type RecipeResult, runRecipe } from './app/run-recipe.ts'
export { type RunControl, runTasks, type TasksEvent, type TasksRequest, type TasksResult } from './app/run-tasks.ts'
export { Running } from './app/running.ts'
export type * from './core/agent.ts'
export type * from './core/budget.ts'
export { type Boundary, BoundaryError, messageOf, UserError } from './core/errors.ts'
export type * from './core/job.ts'
export { type Judge, type JudgedWork, type JudgeVerdict, judgeFileName, submissionDirName } from './core/judge.ts'
export type * from './core/launch.ts'
export type * from './core/model.ts'
export type * from './core/ordered-filter.ts'
export { definePlugin, type Plugin, type PluginContext, pathFrom } from './core/plugin.ts'
export type * from './core/recipe.ts'
export type { RewardPrecedence, Rewards } from './core/rewards.ts'
export type * from './core/row.ts'
export type * from './core/sandbox.ts'
export type * from './core/stage.ts'
export { isDropped } from './core/stage.ts'
export type * from './core/task.ts'
export { sandboxPaths } from './core/task-paths.ts'
export type * from './core/trial.ts'
export type * from './core/whole-set.ts'
export { parseTrialConfigDocument } from './formats/harbor-job/job-config.ts'
export { saveTaskDraft } from './formats/harbor-task/draft.ts'
export { loadTask } from './formats/harbor-task/load.ts'
export { applyFilePatch, PatchError, parsePatch } from './formats/unified-diff.ts'
export { digestJson, rowDigest } from './lib/digest-json.ts'
export { type Draws, makeDraws } from './lib/draws.ts'
export { htmlToMarkdown } from './lib/html-to-markdown.ts'
export { readJson } from './lib/parse-json.ts'
export { findProgram } from './lib/programs.ts'
export { makeRandom, type Random } from './lib/random.ts'
export { shellQuote } from './lib/shell.ts'
export { spawnProcess } from './lib/spawn-process.ts'
export { MissingField, renderTemplate } from './lib/template.ts'
export { defineRecipe, type TypedStage } from './plugins/define-recipe.ts'
export { makeAgent, makeEngine, makeProvider, sandboxAlternatives } from './plugins/make.ts'
export { makeStage } from './plugins/make-stage.ts'
export {
  type Arguments,
  DataGenerator,
  type GeneratorDefaults,
  gpuRequired,
} from './run/pipeline/data-generator.ts'
export type * from './run/pipeline/pipeline.ts'
export { definePipeline } from './run/pipeline/pipeline.ts'
export type * from './run/pipeline/request.ts'
export * from './run/pipeline/sampling.ts'
export type { TasksToMake } from './run/pipeline/task-stages.ts'
export type { MadeTasks, SourceRow } from './run/recipe/run-rows.ts'
export { runTrial, type TrialRequest } from './run/trial.ts'
export { expectedOutputDraft } from './stages/makers/expected-output/index.ts'
export { type Answer, type AskAt, ask, lineageOf, type Question } from './stages/shared/asking/ask.ts'
export { type AskEach, type Asked, askEach } from './stages/shared/asking/ask-each.ts'
export { asJson, asList, asNumber, asText, asYesNo, BadReply, type ReplyForm } from './stages/shared/asking/forms.ts'
export type { AskingContext } from './stages/shared/asking/mapping.ts'
export { authorTask } from './stages/shared/authoring/author-task.ts'
export { authorOptions, draftStage } from './stages/shared/authoring/draft-stage.ts'
export { proveDraft } from './stages/shared/authoring/prove-draft.ts'
export { asTask, filesOf, taskRules, testRules } from './stages/shared/authoring/task-form.ts'
export { collectResults } from './stages/shared/judging/collect-results.ts'
export { makeModelJudge } from './stages/shared/judging/model-judge.ts'
export type { RubricFile } from './stages/shared/judging/rubric.ts'
export { draftEach } from './stages/shared/records/draft-each.ts'
export { openRepository, parseRepositorySpec, type RepositoryFiles } from './stages/shared/repositories/repository.ts'
export { isChangeLog, isTestFile } from './stages/shared/repositories/test-files.ts'
export { verifierFiles } from './stages/shared/repositories/test-run.ts'
export { type Rolling, rollTasks } from './stages/shared/rolling/roll-tasks.ts'
export type { RecipeTrace } from './stages/shared/rollout-text/trace-row.ts'
