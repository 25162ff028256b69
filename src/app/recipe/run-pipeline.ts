import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Need, StageServices } from '../../core/stage.ts'
import { exists, readTextIfExists } from '../../lib/files.ts'
import { readJsonLines } from '../../lib/jsonl.ts'
import { makeStage } from '../../plugins/make-stage.ts'
import { asksModel } from '../../run/pipeline/pipeline.ts'
import { needsOfSource } from '../../run/pipeline/pipeline-stages.ts'
import { type LoadedPipeline, loadPipeline } from '../generate/load-pipeline.ts'
import { type GenerateOptions, type PipelineArgs, parsePipelineArgs } from '../generate/options.ts'
import { performGeneration, requestOf } from '../generate/perform-generation.ts'
import { parsedAssignments } from '../job/assignments.ts'

/** Runs the tasks stage of a pipeline, resuming an earlier run, and yields every task's directory and every reject. */
export const runPipeline: StageServices['pipeline'] = async function* ({ pipeline, args, outDir, signal }) {
  const loaded = await loadPipeline(pipeline)
  const options = { ...optionsOf(loaded, pipeline, args), outputDir: outDir }
  await performGeneration(loaded, options, { signal, notify: () => {} })
  const tasksDir = join(outDir, 'tasks')
  for (const name of (await readdir(tasksDir)).sort()) yield join(tasksDir, name)
  yield* rejectsOf(outDir)
}

/** What a pipeline needs to run with the given arguments; an unknown pipeline or argument is a UserError. */
export async function pipelineNeeds(pipeline: string, args: PipelineArgs): Promise<readonly Need[]> {
  const loaded = await loadPipeline(pipeline)
  const { pipeline: found } = loaded
  const options = optionsOf(loaded, pipeline, args)
  const request = requestOf(loaded, options)
  const sandbox = { name: options.environment, options: parsedAssignments('--ek', options.environmentKwarg ?? []) }
  return [
    ...(loaded.hooks ? [] : await needsOfSource(found, request, makeStage)),
    ...(request.check ? [{ kind: 'sandbox', sandbox } as const] : []),
    ...(asksModel(found, request.options) ? modelNeeds(found.name, options) : []),
  ]
}

function modelNeeds(
  name: string,
  { model: [model] = [], apiBase, engine, apiKeyEnv, ...rest }: GenerateOptions,
): Need[] {
  // Model settings in a file are read when the pipeline runs.
  const files = [rest.engineConfig, rest.endpointJson].filter((path) => path !== undefined)
  const provide = 'write the file, or set the model with args: { model, apiBase }'
  if (files.length > 0) return files.map((path) => ({ kind: 'file', path, what: 'where the model is', provide }))
  if (model === undefined) {
    const how = "set it: args: { model: 'openai/...' }, or args: { model: 'NAME', apiBase: 'http://HOST:PORT/v1' }"
    return [{ kind: 'missing', what: `a model that ${name} makes tasks with`, provide: how }]
  }
  const options = rest.engineKwarg && parsedAssignments('--engine-kwarg', rest.engineKwarg)
  return [{ kind: 'model', model: { model, apiBase, engine, apiKeyEnv, options } }]
}

/** A digest of a pipeline's code and the rows that come with it. */
export async function pipelineFingerprint(pipeline: string): Promise<string> {
  const { digest, dir } = await loadPipeline(pipeline)
  const hash = createHash('sha256').update(digest)
  for (const entry of (await readdir(dir, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1)))
    if (entry.isFile()) hash.update(`\0${entry.name}\0`).update((await readTextIfExists(join(dir, entry.name))) ?? '')
  return hash.digest('hex')
}

function optionsOf(loaded: LoadedPipeline, pipeline: string, args: PipelineArgs): GenerateOptions {
  // Decontamination is the recipe's decision.
  const given = { decontaminate: false, ...args }
  return { ...parsePipelineArgs(pipeline, given, loaded.pipeline.options), stage: 'tasks', upload: false, quiet: true }
}

async function* rejectsOf(outDir: string) {
  const file = join(outDir, 'rejects.jsonl')
  if (!(await exists(file))) return
  for await (const line of readJsonLines(file)) {
    const { row, task, reason, detail } = line as Record<'row' | 'task' | 'reason' | 'detail', unknown>
    yield { drop: String(reason), detail: String(detail), id: String(task ?? row) }
  }
}
