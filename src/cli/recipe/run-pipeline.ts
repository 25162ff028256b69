import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { CommanderError } from '@commander-js/extra-typings'
import { UserError } from '../../core/errors.ts'
import type { StageServices } from '../../core/stage.ts'
import { Arguments } from '../../generation/arguments.ts'
import { exists, readTextIfExists } from '../../lib/files.ts'
import { readJsonLines } from '../../lib/jsonl.ts'
import { type LoadedGenerator, loadGenerator } from '../generate/load-generator.ts'
import { generateOptions, withArguments } from '../generate/options.ts'
import { performGeneration } from '../generate/run-generate.ts'
import { packageRoot } from '../package-root.ts'

/** Runs the tasks stage of a pipeline, going on where an earlier run stopped, and gives every task's directory and every reject. */
export const runPipeline: StageServices['pipeline'] = async function* ({ pipeline, args, outDir, signal }) {
  const loaded = await loadGenerator(await pipelineFile(pipeline))
  const words = [...args, '--stage=tasks', `--output-dir=${outDir}`, '--no-upload', '--quiet']
  await performGeneration(loaded, parseWords(loaded, words, pipeline), signal)
  const tasksDir = join(outDir, 'tasks')
  for (const name of (await readdir(tasksDir)).sort()) yield join(tasksDir, name)
  yield* rejectsOf(outDir)
}

/** A digest of a pipeline's code and of the rows that come with it. */
export async function pipelineFingerprint(pipeline: string): Promise<string> {
  const { digest, dir } = await loadGenerator(await pipelineFile(pipeline))
  const hash = createHash('sha256').update(digest)
  for (const entry of (await readdir(dir, { withFileTypes: true })).sort((a, b) => (a.name < b.name ? -1 : 1)))
    if (entry.isFile()) hash.update(`\0${entry.name}\0`).update((await readTextIfExists(join(dir, entry.name))) ?? '')
  return hash.digest('hex')
}

/** A pipeline that comes with the program is known by its name; any other by its file. */
async function pipelineFile(pipeline: string): Promise<string> {
  const shipped = join(packageRoot, 'data', pipeline, 'generate.ts')
  return isName(pipeline) && (await exists(shipped)) ? shipped : pipeline
}

function isName(pipeline: string): boolean {
  return /^[\w-]+$/.test(pipeline)
}

function parseWords({ generator }: LoadedGenerator, words: readonly string[], pipeline: string) {
  const own = new Arguments()
  generator.addArguments(own)
  const command = generateOptions()
  withArguments(command, own.list())
  try {
    const quiet = command.exitOverride().configureOutput({ writeErr: () => {} })
    return quiet.parse([...words], { from: 'user' }).opts()
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    throw new UserError(
      `pipeline ${pipeline}: ${error.message.replace(/^error: /, '')}`,
      `ot-agent generate ${isName(pipeline) ? `data/${pipeline}/generate.ts` : pipeline} --help lists what args may hold`,
    )
  }
}

async function* rejectsOf(outDir: string) {
  const file = join(outDir, 'rejects.jsonl')
  if (!(await exists(file))) return
  for await (const line of readJsonLines(file)) {
    const { row, task, reason, detail } = line as Record<'row' | 'task' | 'reason' | 'detail', unknown>
    yield { drop: String(reason), detail: String(detail), id: String(task ?? row) }
  }
}
