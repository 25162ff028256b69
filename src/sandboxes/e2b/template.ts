import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type * as E2b from 'e2b'
import { BoundaryError } from '../../core/errors.ts'
import type { PrepareOptions } from '../../core/sandbox.ts'
import type { Environment } from '../../core/task.ts'
import { findNeededImage, type NeededImage } from '../../formats/harbor-task/needed-image.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { type CloudImage, plainImage } from '../cloud/image.ts'
import { loadRecipe, payloadPath, type Recipe } from '../cloud/recipe.ts'
import { failureOf } from './failures.ts'

export interface Account {
  readonly e2b: typeof E2b
  readonly connection: E2b.ConnectionOpts
  /** What sandboxes without an image start from. */
  readonly baseTemplate: string
}

/** Names a template by everything built into it: at E2B that includes processors and memory. */
export async function nameTemplate(environment: Environment, baseTemplate: string): Promise<string> {
  const image = await findNeededImage(environment)
  const { cpus, memoryMb } = environment
  if (image.kind === 'none' && cpus === undefined && memoryMb === undefined) return baseTemplate
  const facts = JSON.stringify([image.key, image.kind === 'none' ? baseTemplate : '', cpus ?? null, memoryMb ?? null])
  return `ot-agent-${createHash('sha256').update(facts).digest('hex').slice(0, 24)}`
}

/** Finds the template of an environment, or builds it. */
export async function makeTemplate(
  account: Account,
  environment: Environment,
  options: Required<PrepareOptions>,
): Promise<CloudImage> {
  const { e2b, connection, baseTemplate } = account
  const name = await nameTemplate(environment, baseTemplate)
  const needed = await findNeededImage(environment)
  const recipe = needed.kind === 'dockerfile' ? await loadRecipe(environment) : null
  const image = { ...plainImage(name), ...recipe?.config, notes: recipe?.notes ?? [] }
  if (name === baseTemplate) return image
  try {
    if (!options.forceBuild && (await e2b.Template.exists(name, connection))) return image
    options.log(`building the E2B template ${name}`)
    await build(account, name, { needed, recipe, environment }, options)
    return image
  } catch (error) {
    options.signal.throwIfAborted()
    if (error instanceof e2b.BuildError && !(error instanceof e2b.FileUploadError)) throw buildFailure(account, error)
    throw failureOf(e2b, error)
  }
}

interface TemplateParts {
  readonly needed: NeededImage
  readonly recipe: Recipe | null
  readonly environment: Environment
}

async function build(
  { e2b, connection, baseTemplate }: Account,
  name: string,
  { needed, recipe, environment: { cpus, memoryMb, buildTimeoutSec } }: TemplateParts,
  options: Required<PrepareOptions>,
): Promise<void> {
  const context = await makeScratchDir(join(tmpdir(), 'ot-agent-e2b-'))
  try {
    const from = e2b.Template({ fileContextPath: context })
    const start = needed.kind === 'none' ? from.fromTemplate(baseTemplate) : from.fromImage(imageOf(needed, recipe))
    const template = recipe ? await addSteps(start, recipe, context) : start
    await e2b.Template.build(template, name, {
      ...connection,
      ...(cpus !== undefined && { cpuCount: Math.max(1, Math.ceil(cpus)) }),
      // E2B accepts even numbers from 128 on.
      ...(memoryMb !== undefined && { memoryMB: Math.max(128, 2 * Math.ceil(memoryMb / 2)) }),
      skipCache: options.forceBuild,
      onBuildLogs: ({ message }) => options.log(message),
      signal: AbortSignal.any([options.signal, AbortSignal.timeout(buildTimeoutSec * 1000)]),
    })
  } finally {
    await removeDraft(context)
  }
}

function imageOf(needed: NeededImage, recipe: Recipe | null): string {
  if (needed.kind === 'prebuilt') return needed.name
  if (recipe) return recipe.from
  throw new BoundaryError('task', 'E2B cannot run several services', {
    code: 'UnsupportedEnvironmentError',
    retryable: false,
  })
}

async function addSteps(start: E2b.TemplateBuilder, recipe: Recipe, context: string): Promise<E2b.TemplateBuilder> {
  let template = start.setUser('root').setWorkdir('/')
  for (const [index, { script, payload }] of recipe.steps.entries()) {
    if (payload) {
      await writeFile(join(context, `payload-${index}.tgz`), payload)
      template = template.copy(`payload-${index}.tgz`, payloadPath, { user: 'root' })
    }
    template = template.runCmd(script, { user: 'root' })
  }
  return template
}

/** A failing command of the Dockerfile is the task's fault; E2B's own trouble is not. */
function buildFailure({ e2b }: Account, error: E2b.BuildError): Error {
  const translated = failureOf(e2b, error)
  if (!(translated instanceof BoundaryError) || translated.code !== 'SandboxLostError') return translated
  const message = `environment/Dockerfile: E2B cannot build it: ${error.message.slice(0, 500)}`
  return new BoundaryError('task', message, { code: 'EnvironmentBuildError', retryable: false, cause: error })
}
