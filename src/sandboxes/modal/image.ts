import type * as Modal from 'modal'
import { BoundaryError, messageOf } from '../../core/errors.ts'
import type { Environment } from '../../core/task.ts'
import { findNeededImage } from '../../formats/harbor-task/needed-image.ts'
import { type CloudImage, plainImage } from '../cloud/image.ts'
import { loadRecipe, payloadPath, type Recipe } from '../cloud/recipe.ts'

/** The files a Dockerfile copies travel inside its commands, so they must be few. */
const payloadLimitBytes = 2 << 20
/** One argument of a program may have 128 KiB. */
const chunkChars = 90_000

/** What Modal builds, and how commands in it run. Modal itself finds an image again that it built from the same commands. */
export async function describeImage(
  client: Modal.ModalClient,
  environment: Environment,
  baseImage: string,
  forceBuild: boolean,
): Promise<{ readonly image: Modal.Image; readonly description: CloudImage }> {
  const needed = await findNeededImage(environment)
  if (needed.kind === 'compose')
    throw new BoundaryError('task', 'Modal cannot run several services', {
      code: 'UnsupportedEnvironmentError',
      retryable: false,
    })
  if (needed.kind !== 'dockerfile') {
    const name = needed.kind === 'prebuilt' ? needed.name : baseImage
    return { image: client.images.fromRegistry(name), description: plainImage(name) }
  }
  const recipe = await loadRecipe(environment)
  const commands = commandsOf(recipe)
  const base = client.images.fromRegistry(recipe.from)
  const image = commands.length > 0 ? base.dockerfileCommands(commands, { forceBuild }) : base
  return { image, description: { ...plainImage(needed.key), ...recipe.config, notes: recipe.notes } }
}

/** Every command is one line; its text is packed so that no quoting can go wrong on the way. */
function commandsOf(recipe: Recipe): string[] {
  return recipe.steps.flatMap(({ title, script, payload }) => {
    const run = `RUN printf %s ${base64(script)} | base64 -d | sh`
    if (payload === null) return [run]
    if (payload.length > payloadLimitBytes)
      throw new BoundaryError(
        'task',
        `environment/Dockerfile: ${title}: more than ${payloadLimitBytes} packed bytes cannot be copied into an image at Modal; use docker_image`,
        { code: 'EnvironmentBuildError', retryable: false },
      )
    const text = Buffer.from(payload).toString('base64')
    const chunks = text.match(new RegExp(`.{1,${chunkChars}}`, 'g')) ?? ['']
    return [...chunks.map((chunk) => `RUN printf %s ${chunk} | base64 -d >> ${payloadPath}`), run]
  })
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** A build that Modal gave up: the task's fault. Trouble on the way to Modal is not. */
export function buildFailure(error: unknown): BoundaryError | null {
  const message = messageOf(error)
  if (!/image build .*failed|build failed/i.test(message)) return null
  return new BoundaryError('task', `environment/Dockerfile: Modal cannot build it: ${message.slice(0, 500)}`, {
    code: 'EnvironmentBuildError',
    retryable: false,
    cause: error,
  })
}
