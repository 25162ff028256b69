import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BoundaryError } from '../../../core/errors.ts'
import { type BuildContext, ContextError, hasWildcards } from '../../../formats/dockerfile/context.ts'
import {
  type CopyStep,
  type DirectoryStep,
  type PlannedStage,
  type RunStep,
  type Step,
  scriptsDir,
} from '../../../formats/dockerfile/step.ts'
import { dockerfileError } from '../../../formats/dockerfile/words.ts'
import { codeOf } from '../../../lib/files.ts'
import { digestItems, gatherItems } from '../../common/copy-items.ts'
import { directoryScript } from '../../common/copy-scripts.ts'
import type { Base } from '../base.ts'
import type { OwnedMachine } from '../workshop.ts'
import { runBuildCommand } from './build-command.ts'
import { CopyFailure, copyFromContext, copyFromStage } from './copy.ts'
import type { ImageHost } from './layers.ts'
import { findOrBuildLayer, layerKey } from './layers.ts'

/** A stage whose files are all in the cache. */
export interface BuiltStage {
  readonly base: Base
  /** Absolute layer directories, bottom to top. */
  readonly layers: readonly string[]
  /** Determines everything built on top of it. */
  readonly key: string
}

/** What the stages of one build share. */
export interface StageBuild {
  readonly host: ImageHost
  /** The file's name in messages. */
  readonly file: string
  readonly context: BuildContext
  /** The stages so far, by index. */
  readonly built: ReadonlyMap<number, BuiltStage>
  readonly notes: Set<string>
  readonly signal: AbortSignal
  readonly log: (line: string) => void
  readonly forceBuild: boolean
  /** What commands of the build may reach; an instruction may ask for less. */
  readonly network: 'public' | 'none'
  readonly memoryMb: number
  /** How much disk space one instruction may take. */
  readonly storageMb: number
}

/** Finds or builds the layers of one stage, one after another. */
export async function buildStage(stage: PlannedStage, build: StageBuild): Promise<BuiltStage> {
  let current = await startOf(stage, build)
  // Layers on top of a rebuilt layer get new keys automatically.
  let force = build.forceBuild && 'image' in stage.base
  for (const step of stage.steps) {
    build.signal.throwIfAborted()
    current = await addLayer(step, current, force, build)
    force = false
  }
  return current
}

async function startOf(stage: PlannedStage, build: StageBuild): Promise<BuiltStage> {
  if ('stage' in stage.base) return builtStage(build, stage.base.stage)
  const { base, note } = await build.host.findBase(stage.base.image)
  if (note !== null) build.notes.add(note)
  return { base, layers: [], key: base.key }
}

function builtStage(build: StageBuild, index: number): BuiltStage {
  const built = build.built.get(index)
  if (!built) throw new Error(`stage ${index} is used before it is built`)
  return built
}

async function addLayer(step: Step, below: BuiltStage, force: boolean, build: StageBuild): Promise<BuiltStage> {
  const { host, signal, log } = build
  if (below.layers.length >= maxLayers) throw tooMany(step, build.file)
  const work = await workOf(step, build)
  const at = `${build.file}:${step.line}`
  const makeMachine = () => {
    log(`${at}: ${step.title}`)
    const { memoryMb, storageMb } = build
    const network = networkOf(step, build)
    return host.makeMachine({ base: below.base, layers: below.layers, network, memoryMb, storageMb, purpose: at })
  }
  const key = layerKey([below.key, step.kind, work.facts])
  const { layersDir, cache } = host
  const layer = await findOrBuildLayer({ layersDir, cache, key, force, signal, makeMachine, fill: work.fill })
  return { base: below.base, layers: layer.isEmpty ? below.layers : [...below.layers, layer.dir], key: layer.name }
}

/** `RUN --network=host` means the task's network, too: the host's own network is never available. */
function networkOf(step: Step, build: StageBuild): 'public' | 'none' {
  return step.kind === 'run' && step.network !== 'none' ? build.network : 'none'
}

/** The names of all layers must fit into the options of one mount, which are one page of memory. */
const maxLayers = 70

function tooMany(step: Step, file: string): BoundaryError {
  const message = `more than ${maxLayers} layers cannot be stacked here; join RUN instructions with &&`
  return dockerfileError({ file, line: step.line }, message)
}

/** How a step changes files, and everything that decides its outcome. */
interface Work {
  readonly facts: unknown
  readonly fill: (owned: OwnedMachine, signal: AbortSignal) => Promise<void>
}

async function workOf(step: Step, build: StageBuild): Promise<Work> {
  if (step.kind === 'run') {
    const { argv, env, user, workdir, script } = step
    const facts = [argv, Object.entries(env).sort(), user ?? null, workdir, networkOf(step, build), script]
    return { facts, fill: (owned, signal) => fillRun(step, build, owned, signal) }
  }
  if (step.kind === 'directory') {
    return { facts: [step.path, step.user ?? null], fill: (owned, signal) => fillDirectory(step, build, owned, signal) }
  }
  return step.from === null ? contextWork(step, build) : stageWork(step, builtStage(build, step.from), build)
}

async function contextWork(step: CopyStep, build: StageBuild): Promise<Work> {
  const items = await atStep(step, build, () => gatherItems(step, build.context))
  const isNothing =
    items.length === 0 && step.sources.every((source) => typeof source === 'string' && hasWildcards(source))
  if (isNothing) build.notes.add(`${build.file}:${step.line}: ${step.title} matches no file`)
  return {
    facts: [step.dest, step.chown, step.chmod, step.unpack, digestItems(items)],
    fill: ({ machine }, signal) => atStep(step, build, () => copyFromContext(machine, step, items, signal)),
  }
}

function stageWork(step: CopyStep, from: BuiltStage, build: StageBuild): Work {
  const { base, layers } = from
  return {
    facts: [step.dest, step.chown, step.chmod, step.sources, from.key],
    fill: async ({ machine }, signal) => {
      const purpose = `${build.file}:${step.line}`
      const { memoryMb, storageMb } = build
      const source = await build.host.makeMachine({ base, layers, network: 'none', memoryMb, storageMb, purpose })
      try {
        await atStep(step, build, () => copyFromStage(machine, step, source.machine, signal))
      } finally {
        await source.dispose()
      }
    },
  }
}

async function fillRun(step: RunStep, build: StageBuild, owned: OwnedMachine, signal: AbortSignal): Promise<void> {
  const { user, workdir, env } = step
  if (step.script) owned.machine.mounts.set(scriptsDir, await writeScript(owned.dir, step.script))
  const options = { env, cwd: workdir, signal, log: build.log, ...(user !== undefined && { user }) }
  const { exitCode, tail } = await runBuildCommand(owned.machine, step.argv, options)
  if (exitCode !== 0) throw commandFailed(step, build.file, exitCode, [...offlineHint(step, build), ...tail])
}

function offlineHint(step: RunStep, build: StageBuild): string[] {
  const isOffline = build.network === 'none' && step.network !== 'none'
  return isOffline
    ? ['(built without network, as the task asks; --ek buildNetwork=public gives builds network access)']
    : []
}

/** Writes to a directory of ours that the command sees read-write; it is removed with the machine. */
async function writeScript(dir: string, script: { readonly name: string; readonly content: string }): Promise<string> {
  const scripts = join(dir, 'scripts')
  await mkdir(scripts)
  await writeFile(join(scripts, script.name), script.content)
  await chmod(scripts, 0o755)
  await chmod(join(scripts, script.name), 0o755)
  return scripts
}

async function fillDirectory(
  step: DirectoryStep,
  build: StageBuild,
  owned: OwnedMachine,
  signal: AbortSignal,
): Promise<void> {
  const argv = ['sh', '-c', directoryScript, 'sh', step.path, step.user ?? '0']
  const { exitCode, stderr } = await owned.machine.exec(argv, { user: 'root', cwd: '/', signal })
  if (exitCode !== 0) throw commandFailed(step, build.file, exitCode, stderr.trimEnd().split('\n'))
}

function commandFailed(step: Step, file: string, exitCode: number, tail: readonly string[]): BoundaryError {
  const said = tail.length > 0 ? `\n${tail.join('\n')}` : ''
  return dockerfileError({ file, line: step.line }, `${step.title}: failed with exit code ${exitCode}${said}`)
}

/** Blames the task for failures with a step's files. */
async function atStep<T>(step: CopyStep, build: StageBuild, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isTasks = error instanceof ContextError || error instanceof CopyFailure || codeOf(error) === 'EACCES'
    if (!isTasks || !(error instanceof Error)) throw error
    throw dockerfileError({ file: build.file, line: step.line }, `${step.title}: ${error.message}`)
  }
}
