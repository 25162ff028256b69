import { lstatSync, realpathSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'
import type { Environment, Step, Task, TaskDigests, VerifierLimits } from '../../core/task.ts'
import {
  environmentDir,
  instructionFile,
  solutionDir,
  stepDir,
  stepWorkdir,
  taskFileName,
  testScript,
  testsDir,
} from '../../core/task-paths.ts'
import { digestTask } from './digests.ts'
import type { EnvironmentSettings, StepSettings, TaskSettings, VerifierSettings } from './environment.ts'
import { parseTaskToml } from './parse.ts'
import { kindInTask, readTaskText, stripCanary } from './read.ts'

export interface LoadTaskOptions {
  /** For jobs that do not verify: accepts a missing test script. */
  readonly allowNoTests?: boolean
  /** Looks up a task's digests without reading all its files (default: reads them). */
  readonly digest?: (taskDir: string) => Promise<TaskDigests>
}

/** Reads a task directory completely; any problem is a UserError that names the file. */
export async function loadTask(taskDir: string, options: LoadTaskOptions = {}): Promise<Task> {
  const dir = resolve(taskDir)
  await checkDir(dir)
  const settings = parseTaskToml(await readTaskToml(dir), join(dir, taskFileName))
  const environment = await placeEnvironment(dir, settings)
  const verifier = await placeVerifier(settings.verifier, {
    taskDir: dir,
    environment,
    levels: [{ dir, environment: settings.verifier.environment }],
  })
  const isMultiStep = settings.steps.length > 0
  const instruction = isMultiStep ? '' : await readInstruction(dir, dir)
  if (!isMultiStep && !options.allowNoTests) await checkTests(dir, [dir], verifier, environment)
  const steps: Step[] = []
  for (const step of settings.steps) steps.push(await loadStep(dir, step, { task: settings, environment, options }))
  await checkParts(dir, [dir, ...steps.map((step) => step.dir)])
  const name = settings.name ?? basename(lstatSync(dir).isSymbolicLink() ? realpathSync.native(dir) : dir)
  return {
    ...settings,
    name,
    dir,
    instruction,
    environment,
    verifier: verifier.limits,
    steps,
    digests: await (options.digest ?? digestTask)(dir),
  }
}

async function checkDir(dir: string): Promise<void> {
  const kind = await kindInTask(dir, dir)
  if (kind === 'dir') return
  throw new UserError(
    `${dir}: expected a task directory, found ${kind === null ? 'nothing' : 'a file'}`,
    'check the path',
  )
}

async function readTaskToml(dir: string): Promise<string> {
  const text = await readTaskText(dir, join(dir, taskFileName))
  if (text !== null) return text
  throw new UserError(
    `${dir}: expected a task directory with a ${taskFileName}, found none`,
    'ot-agent tasks init NAME writes a task to start from; ot-agent tasks convert takes Terminal-Bench tasks',
  )
}

/** Finds the build files, which only a prebuilt image can do without. */
async function placeEnvironment(dir: string, settings: TaskSettings): Promise<Environment> {
  const path = environmentDir(dir)
  const kind = await kindInTask(dir, path)
  const isOptional = settings.environment.dockerImage !== undefined && kind === null
  if (kind !== 'dir' && !isOptional) {
    throw new UserError(
      `${path}: expected a directory, found ${kind === null ? 'nothing' : 'a file'}`,
      'put the Dockerfile there, or set an image with [environment] docker_image in task.toml',
    )
  }
  return { ...settings.environment, dir: path }
}

async function readInstruction(taskDir: string, dir: string): Promise<string> {
  const path = instructionFile(dir)
  const text = await readTaskText(taskDir, path)
  if (text === null) throw new UserError(`${path}: expected the instruction, found no such file`, `write ${path}`)
  return stripCanary(text)
}

interface StepPlace {
  readonly task: TaskSettings
  readonly environment: Environment
  readonly options: LoadTaskOptions
}

async function loadStep(
  taskDir: string,
  settings: StepSettings,
  { task, environment, options }: StepPlace,
): Promise<Step> {
  const dir = stepDir(taskDir, settings.name)
  if ((await kindInTask(taskDir, dir)) !== 'dir') {
    throw new UserError(
      `${dir}: expected the directory of step ${JSON.stringify(settings.name)}, found none`,
      `make the directory, or correct the step's name in ${join(taskDir, taskFileName)}`,
    )
  }
  const verifier = await placeVerifier(settings.verifier, {
    taskDir,
    environment,
    levels: [
      { dir, environment: settings.verifier.environment },
      { dir: taskDir, environment: task.verifier.environment },
    ],
  })
  const instruction = await readInstruction(taskDir, dir)
  if (!options.allowNoTests) await checkTests(taskDir, [dir, taskDir], verifier, environment)
  return { ...settings, dir, instruction, verifier: verifier.limits }
}

async function checkTests(
  taskDir: string,
  dirs: readonly string[],
  verifier: PlacedVerifier,
  environment: Environment,
): Promise<void> {
  if (verifier.bundlesTests) return
  const script = testScript(verifier.limits.environment?.os ?? environment.os)
  const paths = dirs.map((dir) => join(testsDir(dir), script))
  for (const path of paths) if ((await kindInTask(taskDir, path)) === 'file') return
  throw new UserError(
    `${paths.join(' or ')}: expected the test script, found no such file`,
    'nothing can be scored without tests; --disable-verification runs the task anyway',
  )
}

/** Directories that are handed to a sandbox whole must be inside the task. */
async function checkParts(taskDir: string, dirs: readonly string[]): Promise<void> {
  for (const dir of dirs) {
    for (const part of [testsDir(dir), solutionDir(dir), stepWorkdir(dir)]) {
      const kind = await kindInTask(taskDir, part)
      if (kind === null || kind === 'dir') continue
      throw new UserError(`${part}: expected a directory, found a file`, `make ${part} a directory`)
    }
  }
}

interface VerifierPlace {
  readonly taskDir: string
  readonly environment: Environment
  /** From nearest to farthest: a step's own table and directory, then the task's. */
  readonly levels: readonly { readonly dir: string; readonly environment: EnvironmentSettings | undefined }[]
}

interface PlacedVerifier {
  readonly limits: VerifierLimits
  /** The verifier's image has its own /tests, so the task needs no test script. */
  readonly bundlesTests: boolean
}

/**
 * Finds what a separate verifier's sandbox is built from. The nearest level with an image, or with a Dockerfile among
 * its tests, decides, and that image contains the tests. Otherwise it is built like the task's own environment.
 */
async function placeVerifier(settings: VerifierSettings, place: VerifierPlace): Promise<PlacedVerifier> {
  const { environment: _, ...limits } = settings
  if (settings.mode === 'shared') return { limits, bundlesTests: false }
  const { dockerImage: ownImage, ...config } = place.levels.find((l) => l.environment)?.environment ?? place.environment
  for (const level of place.levels) {
    const dir = testsDir(level.dir)
    const dockerImage = level.environment?.dockerImage
    if (dockerImage) return { limits: { ...limits, environment: { ...config, dockerImage, dir } }, bundlesTests: true }
    if (await hasBuildFile(place.taskDir, dir)) {
      return { limits: { ...limits, environment: { ...config, dir } }, bundlesTests: true }
    }
  }
  const { dir, dockerImage } = place.environment
  const image = dockerImage === undefined ? {} : { dockerImage }
  return { limits: { ...limits, environment: { ...config, ...image, dir } }, bundlesTests: false }
}

async function hasBuildFile(taskDir: string, dir: string): Promise<boolean> {
  const kinds = await Promise.all(
    ['Dockerfile', 'docker-compose.yaml'].map((name) => kindInTask(taskDir, join(dir, name))),
  )
  return kinds.includes('file')
}
