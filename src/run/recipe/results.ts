import { join } from 'node:path'
import { BoundaryError, UserError } from '../../core/errors.ts'
import type { StageContext } from '../../core/stage.ts'
import { readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { readJson } from '../../lib/parse-json.ts'
import type { LiveStage } from './resolve.ts'

const file = 'result.json'

/**
 * Where stages keep their findings and read those of the stages above them: next to the rows, so that a stage that is
 * not run again still says the same.
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
          `stage ${stage.id} needs the result of ${JSON.stringify(id)}, but its rows do not pass through that stage`,
          'use a stage above it',
        )
      return readResult(dirOf(id))
    },
  }
}

function standsAbove(id: string, stage: LiveStage, stages: readonly LiveStage[]): boolean {
  return stage.from.some((from) => {
    const above = stages.find((each) => each.id === from)
    return from === id || (above !== undefined && standsAbove(id, above, stages))
  })
}

/** The result a stage kept with its rows; null when it kept none. */
export async function readResult(dir: string): Promise<unknown> {
  const path = join(dir, file)
  const text = await readTextIfExists(path)
  if (text === null) return null
  try {
    return readJson(text)
  } catch {
    throw new BoundaryError('store', `${path} has changed since it was written; remove its directory to rebuild it`, {
      code: 'CorruptShard',
      retryable: false,
    })
  }
}
