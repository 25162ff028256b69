import type { TokenDetails } from '../../core/model.ts'

type Lists = { prompt_token_ids: TokenIds[]; completion_token_ids: TokenIds[]; logprobs: TokenIds[] }
type TokenIds = readonly number[]

/** Token ids of one conversation, call by call, in the form trainers read. */
export type RolloutDetail = Partial<Lists>

/** The calls of one conversation in order; each of its lists has one entry per call. */
export class Segment {
  private readonly lists: Lists = { prompt_token_ids: [], completion_token_ids: [], logprobs: [] }
  private readonly given = new Set<keyof Lists>()

  add(tokens: TokenDetails | null): void {
    this.push('prompt_token_ids', tokens?.promptIds)
    this.push('completion_token_ids', tokens?.completionIds)
    this.push('logprobs', tokens?.logprobs)
  }

  /** The lists themselves, which keep growing; a list without any values is left out. */
  get detail(): RolloutDetail {
    return Object.fromEntries([...this.given].map((name) => [name, this.lists[name]]))
  }

  private push(name: keyof Lists, ids: TokenIds | null | undefined): void {
    if (ids) this.given.add(name)
    this.lists[name].push(ids ?? [])
  }
}

/** All conversations of a run: the main one first, then one per call outside it. */
export class Rollouts {
  readonly main = new Segment()
  private readonly asides: Segment[] = []

  aside(): Segment {
    const segment = new Segment()
    this.asides.push(segment)
    return segment
  }

  /** Null when the server gave no token ids at all. */
  details(): RolloutDetail[] | null {
    const all = [this.main, ...this.asides].map((segment) => segment.detail)
    return all.some((detail) => Object.keys(detail).length > 0) ? all : null
  }
}
