import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { BoundaryError, UserError } from '../../core/errors.ts'
import { draftOf, removeDraft, renameDraft } from '../../lib/drafts.ts'
import { exists, readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { packageRoot } from '../../lib/package-root.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { identify, identitySchema, livenessOf } from '../../lib/process-identity.ts'
import { linkTree } from '../../lib/tree.ts'
import { runCommand, stopGroup } from '../run-command.ts'
import { filledIn } from './cells.ts'
import { type CellResult, readOutcomes } from './result.ts'

const cellSchema = z.object({
  schema: z.literal('ablate-cell/1'),
  id: z.string(),
  label: z.string(),
  /** The dataset's digest. */
  data: z.string(),
  commands: z.array(z.array(z.string())),
  result: z.array(z.string()).min(1),
})

/** What a cell with commands consists of: enough to run it on another machine. */
export type CellFile = z.output<typeof cellSchema>

/** Creates the folder of a cell with its dataset, whole or not at all. */
export async function prepareCell(dir: string, cell: CellFile, dataset: string): Promise<void> {
  if (await exists(join(dir, 'cell.json'))) return
  const draft = draftOf(dir)
  await rm(draft, { recursive: true, force: true })
  try {
    await linkTree(dataset, join(draft, 'dataset'))
    await writeAtomic(join(draft, 'cell.json'), `${JSON.stringify(cell, null, 2)}\n`)
    await rm(dir, { recursive: true, force: true })
    await renameDraft(draft, dir)
  } finally {
    await removeDraft(draft)
  }
}

/** The cell in a folder, or null. */
export async function loadCell(dir: string): Promise<CellFile | null> {
  const text = await readTextIfExists(join(dir, 'cell.json'))
  if (text === null) return null
  const parsed = cellSchema.safeParse(parseJson(text))
  if (parsed.success) return parsed.data
  throw new BoundaryError('store', `${join(dir, 'cell.json')} has changed since it was written; remove ${dir}`, {
    code: 'CorruptCell',
    retryable: false,
  })
}

/** Commands to run, and where they write their measurements. */
export interface CellWork extends Readonly<Pick<CellFile, 'commands' | 'result'>> {
  /** The value of `{here}`. */
  readonly here: string
  readonly signal: AbortSignal
  /** Called when a command starts, with its place in the list and the file that gets its output. */
  readonly onCommand?: ((command: StartedCommand) => void) | undefined
}

export interface StartedCommand {
  readonly at: number
  readonly of: number
  readonly log: string
}

/**
 * Runs the commands in a cell's folder, starting with the first that has not succeeded yet, and reads their results.
 * The commands come from the ablation, because those in the folder may come from an untrusted pack.
 */
export async function runCommands(
  dir: string,
  { commands, result, here, signal, onCommand }: CellWork,
): Promise<CellResult> {
  const cell = await loadCell(dir)
  if (cell === null || !(await exists(join(dir, 'dataset'))))
    throw new UserError(
      `${dir}: expected a cell with its dataset, found none`,
      'run the ablation with --stage data first',
    )
  const out = join(dir, 'out')
  await mkdir(out, { recursive: true })
  const places = { here, out, dataset: join(dir, 'dataset') }
  await stopLeftover(dir)
  const log = join(dir, 'log.txt')
  for (const [step, words] of commands.entries()) {
    const mark = join(dir, `step-${step}.done`)
    if (await exists(mark)) continue
    onCommand?.({ at: step, of: commands.length, log })
    const ended = await runCommand(programOf(filledIn(words, places)), {
      ...{ log, signal },
      onStart: (pid) => writeAtomic(join(dir, 'running.json'), JSON.stringify(identify(pid))),
    })
    signal.throwIfAborted()
    if (ended !== 0) throw new UserError(`${cell.label}: ${words[0]} ended with ${ended}`, `its output is in ${log}`, 3)
    await writeAtomic(mark, '')
  }
  await rm(join(dir, 'running.json'), { force: true })
  return readOutcomes(filledIn(result, places))
}

/** Stops a command that outlived a killed run, because it writes to the same places as the next one. */
async function stopLeftover(dir: string): Promise<void> {
  const text = await readTextIfExists(join(dir, 'running.json'))
  const parsed = identitySchema.safeParse(parseJson(text ?? ''))
  if (parsed.success && livenessOf(parsed.data) === 'alive') await stopGroup(parsed.data.pid)
}

/** Runs `ot-agent` as this very program. */
function programOf([program = '', ...args]: readonly string[]): readonly string[] {
  const own = [process.execPath, join(packageRoot, 'bin/ot-agent.js')]
  return program === 'ot-agent' ? [...own, ...args] : [program, ...args]
}
