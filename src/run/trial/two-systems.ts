import { BoundaryError } from '../../core/errors.ts'
import type { Rewards } from '../../core/rewards.ts'
import type { Isolation } from '../../core/sandbox.ts'
import type { SystemChanges } from '../../core/system-files.ts'
import type { SystemReport } from '../../core/trial.ts'
import type { TestsOutcome } from './tests-run.ts'

/** The results of the tests in one sandbox, or in two. */
export interface Verified extends TestsOutcome {
  readonly isolation: Isolation
  /** Absent if no system file was restored. */
  readonly system?: SystemReport
}

/**
 * The result of tests that ran on the image's system and again on the agent's. If the two differ, the lower rewards
 * count and are never full; tests that gave nothing on one of the two gave 0 there. Only tests that gave nothing on
 * both have failed.
 */
export function settleSystems(
  restored: SystemChanges,
  image: Verified | BoundaryError,
  agent: Verified | BoundaryError,
): Verified {
  const known = image instanceof BoundaryError ? agent : image
  if (image instanceof BoundaryError && agent instanceof BoundaryError) throw image
  if (known instanceof BoundaryError) throw known
  const [onImage, onAgent] = [image, agent].map((it) => (it instanceof BoundaryError ? null : it.rewards)) as [
    Rewards | null,
    Rewards | null,
  ]
  const rewards = lower(known.rewards, onImage ?? {}, onAgent ?? {})
  const differ = onImage === null || onAgent === null || isDifferent(onImage, onAgent)
  return { ...known, rewards: differ ? rewards : known.rewards, system: { restored, onImage, onAgent, differ } }
}

/** If there is a reward called `reward`, it decides; others may measure time, which never repeats exactly. */
function isDifferent(a: Rewards, b: Rewards): boolean {
  const keys = Object.hasOwn(a, 'reward') ? ['reward'] : [...new Set([...Object.keys(a), ...Object.keys(b)])]
  return keys.some((key) => a[key] !== b[key])
}

function lower(known: Rewards, a: Rewards, b: Rewards): Rewards {
  const entries = Object.keys(known).map((key) => {
    const [one, other] = [a[key] ?? 0, b[key] ?? 0]
    const least = Math.min(one, other)
    return [key, one !== other && least >= 1 ? 0 : least] as const
  })
  return Object.fromEntries(entries)
}

/** Some of the files by name, and how many there are. */
export function describeChanges({ files, total }: SystemChanges): string {
  const named = files.slice(0, 5).map(({ path, change }) => `${path} (${change})`)
  return `${named.join(', ')}${total > named.length ? `, and ${total - named.length} more` : ''}`
}

/** What a reader of a trial's result should know about it. */
export function describeSystem({ restored, onImage, onAgent, differ }: SystemReport): string {
  const changed = `the agent changed system files: ${describeChanges(restored)}`
  const gave = (rewards: Rewards | null | undefined) => (rewards ? JSON.stringify(rewards) : 'nothing')
  if (differ) return `${changed}; the tests gave ${gave(onImage)} on the image’s and ${gave(onAgent)} on the agent’s`
  return `${changed}; the tests ran on the image’s`
}
