import { join } from 'node:path'
import { BoundaryError, UserError } from '../../core/errors.ts'
import type { StageContext } from '../../core/stage.ts'
import { readTextIfExists, writeAtomic } from '../../lib/files.ts'
import type { LiveStage } from './resolve.ts'

/**
 * Where stages keep what they found out and find what those above them did: beside the rows it was found with, so that a stage
 * that is not run again still says the same.
 */
export function resultsFor(
  stage: LiveStage,
  stages: readonly LiveStage[],
  dirOf: (id: string) => string,
): Required<Pick<StageContext, 'saveResult' | 'loadResult'>> {
  return {
    saveResult: (result) => writeAtomic(join(dirOf(stage.id), file), `${JSON.stringify(result, null, 2)}\n`),
    loadResult: async (id) => {
      if (!standsAbove(id, stage, stages))
        throw new UserError(
          `stage ${stage.id} asks for the result of ${JSON.stringify(id)}, which its rows do not come through`,
          'name a stage above it',
        )
      return parse(join(dirOf(id), file))
    },
  }
}

const file = 'result.json'

function standsAbove(id: string, stage: LiveStage, stages: readonly LiveStage[]): boolean {
  return stage.from.some((from) => {
    const above = stages.find((each) => each.id === from)
    return from === id || (above !== undefined && standsAbove(id, above, stages))
  })
}

async function parse(path: string): Promise<unknown> {
  const text = await readTextIfExists(path)
  if (text === null) return null
  try {
    return JSON.parse(text)
  } catch {
    throw new BoundaryError('store', `${path} is not what was written; remove its directory to make it again`, {
      code: 'CorruptShard',
      retryable: false,
    })
  }
}
