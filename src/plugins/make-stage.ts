import { join } from 'node:path'
import { UserError } from '../core/errors.ts'
import type { Plugin, PluginContext } from '../core/plugin.ts'
import type { AnyStage, MapStage, Source } from '../core/stage.ts'
import { packageRoot } from '../lib/package-root.ts'
import { makeNamed, makePlugin } from './make.ts'
import { registry } from './table.ts'
import { makeImportedStage } from './user-modules/make-imported-stage.ts'

type Options = Readonly<Record<string, unknown>>

/** Stages that lie next to their pipeline, by the name that recipes may use instead of the path. */
export const pipelineStages = {
  'makers/environment': 'data/perturbed-docker/environment/index.ts',
  'makers/judged': 'data/llm-verifier/judged.ts',
  'makers/mine': 'data/dclm-mine/mine.ts',
  'makers/self-instruct': 'data/self-instruct/self-instruct.ts',
  'makers/sql-query': 'data/staqc/sql-query/index.ts',
  'makers/teacher': 'data/teacher-authored/teacher.ts',
  'makers/trace-tests': 'data/trace-to-tests/trace-tests.ts',
  'sources/compose': 'data/terminal-composer/compose/index.ts',
  'sources/documents': 'data/bash-textbook/documents/index.ts',
  'sources/posts': 'data/stackexchange/posts/index.ts',
  'sources/puzzles': 'data/all-puzzles/puzzles/index.ts',
} as const satisfies Readonly<Record<string, string>>

/** The file of a stage that lies next to its pipeline; null for any other name. */
export function pipelineStageFile(name: string): string | null {
  if (!Object.hasOwn(pipelineStages, name)) return null
  return join(packageRoot, pipelineStages[name as keyof typeof pipelineStages])
}

/** Makes a stage of a recipe by its name, for example `filters/rollouts/min-turns`; a wrong name or option is a UserError. */
export async function makeAnyStage(
  name: string,
  options: Options = {},
  more: Partial<PluginContext> = {},
): Promise<AnyStage> {
  const file = pipelineStageFile(name)
  if (file !== null) return makeImportedStage(file, options, more)
  return makeNamed<AnyStage>({ kind: 'stage', table: registry.stages }, name, options, more)
}

/** Makes a stage that streams rows, by its name (`sources/file`) or from its plug-in; a wrong name or option is a UserError. */
export async function makeStage(
  stage: string | Plugin<AnyStage>,
  options: Options = {},
): Promise<Source | MapStage<never, unknown>> {
  const made = typeof stage === 'string' ? await makeAnyStage(stage, options) : makePlugin('stage', stage, options)
  if (made.kind === 'source' || made.kind === 'map') return made
  throw new UserError(
    `${typeof stage === 'string' ? stage : stage.name} cannot be part of a pipeline`,
    'sources and makers can; mixers, exporters and filters in SQL are for recipes',
  )
}
