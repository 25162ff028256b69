import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { ContextError, hasWildcards, parsePart } from '../../../formats/dockerfile/context.ts'
import { matchesGlob } from '../../../formats/dockerfile/glob.ts'
import type { CopyStep } from '../../../formats/dockerfile/step.ts'
import { type CopyItem, itemDir, tarItems } from '../../common/copy-items.ts'
import {
  placeScript,
  receiveAndPlaceScript,
  receiveScript,
  sendContentsScript,
  sendFileScript,
} from '../../common/copy-scripts.ts'
import type { Machine } from '../machine.ts'
import { type BuildCommandOptions, runBuildCommand } from './build-command.ts'

/**
 * The failure of a command inside that only the COPY or ADD itself can have caused; its message is for the task's
 * author.
 */
export class CopyFailure extends Error {
  override readonly name = 'CopyFailure'
}

/** Puts files of the build context where the step wants them. */
export async function copyFromContext(
  machine: Machine,
  step: CopyStep,
  items: readonly CopyItem[],
  signal: AbortSignal,
): Promise<void> {
  const count = items.length
  await place(machine, { step, stage: stagePath(), count, signal, ...(count > 0 && { input: tarItems(items) }) })
}

/**
 * Puts files of another stage, running in `from`, where the step wants them, without touching this machine's own files.
 */
export async function copyFromStage(
  machine: Machine,
  step: CopyStep,
  from: Machine,
  signal: AbortSignal,
): Promise<void> {
  const stage = stagePath()
  let count = 0
  for (const source of step.sources) {
    if (typeof source !== 'string') throw new Error('a heredoc cannot come from a stage')
    for (const path of await matchInside(from, source, signal)) {
      const kind = await kindInside(from, path, signal)
      const target = `${stage}/${itemDir(count++, kind)}`
      const script = kind === 'dir' ? sendContentsScript : sendFileScript
      await pipe({ from, script, path, to: machine, target, signal })
    }
  }
  await place(machine, { step, stage, count, signal })
}

/** A name for which no program inside could have prepared a link. */
function stagePath(): string {
  return `/.ot-agent-${randomBytes(12).toString('hex')}`
}

interface Placing {
  readonly step: CopyStep
  readonly stage: string
  readonly count: number
  readonly signal: AbortSignal
  /** A tar of what is to be placed, if it is not in the staging directory yet. */
  readonly input?: AsyncIterable<Uint8Array>
}

async function place(machine: Machine, { step, stage, count, signal, input }: Placing): Promise<void> {
  // One pattern may have expanded to several files, which only a directory can take.
  const dest = count > 1 && !step.dest.endsWith('/') ? `${step.dest}/` : step.dest
  const script = input ? receiveAndPlaceScript : placeScript
  const args = [stage, dest, step.chown ?? '', step.chmod ?? '']
  await runScript(machine, script, args, { signal, ...(input && { input }) })
}

interface Pipe {
  readonly from: Machine
  readonly script: string
  readonly path: string
  readonly to: Machine
  readonly target: string
  readonly signal: AbortSignal
}

async function pipe({ from, script, path, to, target, signal }: Pipe): Promise<void> {
  const output = (stdout: Readable) => runScript(to, receiveScript, [target], { signal, input: stdout })
  await runScript(from, script, [path], { signal, output })
}

/** The paths in a stage that a source stands for. */
async function matchInside(machine: Machine, source: string, signal: AbortSignal): Promise<readonly string[]> {
  const path = `/${source}`.replace(/\/+/g, '/')
  if (!hasWildcards(path)) return [path]
  let found = ['']
  for (const part of path.split('/').filter((part) => part !== '')) {
    const lists = await Promise.all(found.map((dir) => childrenLike(machine, dir, part, signal)))
    found = lists.flat()
  }
  return found
}

async function childrenLike(machine: Machine, dir: string, part: string, signal: AbortSignal): Promise<string[]> {
  if (!hasWildcards(part)) return [`${dir}/${part}`]
  const glob = parsePart(part)
  const listed = await machine.exec(['find', '-H', `${dir}/`, '-mindepth', '1', '-maxdepth', '1', '-print0'], {
    user: 'root',
    cwd: '/',
    signal,
    outputLimitBytes: 16 << 20,
  })
  const names = listed.stdout.split('\0').flatMap((path) => path.split('/').at(-1) || [])
  return names
    .filter((name) => matchesGlob(glob, name))
    .sort()
    .map((name) => `${dir}/${name}`)
}

async function kindInside(machine: Machine, path: string, signal: AbortSignal): Promise<'file' | 'dir'> {
  const script = 'if [ -d "$1" ]; then echo dir; elif [ -e "$1" ] || [ -L "$1" ]; then echo file; fi'
  const { stdout } = await machine.exec(['sh', '-c', script, 'sh', path], { user: 'root', cwd: '/', signal })
  const kind = stdout.trim()
  if (kind === 'dir' || kind === 'file') return kind
  throw new ContextError(`${path} is not there`)
}

async function runScript(
  machine: Machine,
  script: string,
  args: readonly string[],
  options: BuildCommandOptions,
): Promise<void> {
  const result = await runBuildCommand(machine, ['sh', '-c', script, 'sh', ...args], {
    user: 'root',
    cwd: '/',
    ...options,
  })
  if (result.exitCode !== 0) throw new CopyFailure(result.tail.join('\n') || `exit code ${result.exitCode}`)
}
