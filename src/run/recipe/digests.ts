import type { RecipeLock } from '../../core/recipe.ts'
import type { StageContext } from '../../core/stage.ts'
import { digestJson } from '../../lib/digest-json.ts'
import type { LiveStage } from './resolve.ts'
import { naming } from './stage-failure.ts'

/**
 * A digest for each stage of everything that determines its rows: the stage, its options, the seed, and the digests of
 * the stages above it. Two stages with the same digest give the same rows, so nothing is made twice.
 */
export async function digestStages(
  { seed, limit, rehearsal }: RecipeLock,
  stages: readonly LiveStage[],
  contextOf: (stage: LiveStage) => StageContext,
): Promise<ReadonlyMap<string, string>> {
  const digests = new Map<string, string>()
  for (const live of stages) {
    const { stage, use, from, form } = live
    const identity = stage.identity === undefined ? live.with : stage.identity
    digests.set(
      live.id,
      digestJson({
        use,
        identity,
        seed,
        ...(rehearsal && { rehearsal }),
        version: stage.version ?? 0,
        ...(stage.code !== undefined && { code: stage.code }),
        inputs: from.map((id) => digests.get(id)),
        ...(form === 'source' ? { limit } : {}),
        ...(stage.fingerprint && {
          fingerprint: await naming({ stages: [live] }, async () => stage.fingerprint?.(contextOf(live))),
        }),
        ...(stage.kind === 'sql-filter' && { reason: stage.reason }),
      }),
    )
  }
  return digests
}
