import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import { isDiskFull } from '../exhausted.ts'
import type { Step } from './steps.ts'

/** Runs the work of stages; errors name the stages, and say what can be done if the machine was too small. */
export async function naming<Made>({ stages }: Pick<Step, 'stages'>, work: () => Promise<Made>): Promise<Made> {
  try {
    return await work()
  } catch (error) {
    throw explained(`stage ${stages.map(({ id }) => id).join(', ')}`, error)
  }
}

function explained(stage: string, error: unknown): unknown {
  const message = messageOf(error)
  if (isDiskFull(error) || /No space left on device|max_temp_directory_size/.test(message))
    return new UserError(
      `${stage}: the disk is full`,
      'free some space and run the same command again: finished shards are kept',
    )
  if (message.startsWith('Out of Memory Error'))
    return new UserError(
      `${stage}: its rows need more memory than the database may use`,
      'raise --memory-mb: finished shards are kept. Or start over in another directory with a smaller --shard-rows',
    )
  if (message.startsWith('stage ')) return error
  if (error instanceof UserError) return new UserError(`${stage}: ${message}`, error.hint, error.exitCode)
  if (!(error instanceof BoundaryError)) return error
  const { boundary, code, retryable } = error
  return new BoundaryError(boundary, `${stage}: ${message}`, { code, retryable, cause: error })
}
