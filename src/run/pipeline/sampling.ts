import { UserError } from '../../core/errors.ts'
import { makeRandom } from '../../lib/random.ts'

/**
 * A sample of the given size that depends only on the seed, in the original order; all items when there are no more.
 */
export function subsample<T>(items: readonly T[], count: number, seed: number): T[] {
  return makeRandom(seed, 'subsample').sample(items, count)
}

/**
 * The requested number of items: each item occurs as often as any other or once more, and the seed decides which ones.
 */
export function upsample<T>(
  items: readonly T[],
  count: number,
  seed: number,
): { readonly item: T; readonly copy: number }[] {
  if (items.length === 0)
    throw new UserError('expected something to repeat, got nothing', 'check the step before: it produced no rows')
  const whole = Math.floor(count / items.length)
  const rounds = Array.from({ length: whole }, (_, copy) => items.map((item) => ({ item, copy })))
  const rest = makeRandom(seed, 'upsample').sample([...items.keys()], count - whole * items.length)
  return [...rounds.flat(), ...rest.map((index) => ({ item: items[index] as T, copy: whole }))]
}

/**
 * A sample of the given size in which every group keeps its share (by largest remainder); within a group, the seed
 * decides.
 */
export function stratifiedSample<T>(
  items: readonly T[],
  count: number,
  groupOf: (item: T) => string,
  seed: number,
): T[] {
  if (count >= items.length) return [...items]
  const groups = new Map<string, number[]>()
  for (const [index, item] of items.entries()) {
    const name = groupOf(item)
    const members = groups.get(name)
    if (members) members.push(index)
    else groups.set(name, [index])
  }
  const shares = [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, members]) => {
      const exact = (members.length * count) / items.length
      return { name, members, take: Math.floor(exact), remainder: exact - Math.floor(exact) }
    })
  const missing = count - shares.reduce((sum, { take }) => sum + take, 0)
  const favoured = new Set(
    [...shares].sort((a, b) => b.remainder - a.remainder || (a.name < b.name ? -1 : 1)).slice(0, missing),
  )
  const chosen = shares.flatMap((share) =>
    makeRandom(seed, `stratum ${share.name}`).sample(share.members, share.take + (favoured.has(share) ? 1 : 0)),
  )
  return chosen.sort((a, b) => a - b).map((index) => items[index] as T)
}
