import type { Resource } from '../../lib/exhaustion.ts'

/** How many trials run at once when this machine runs out of something: half as many, and more again when that goes well. */
export interface AtOnce {
  /** As many as asked for, or fewer. */
  readonly limit: number
  /** Changes how many are asked for. */
  ask(count: number): void
  /** Something ran out. */
  met(resource: Resource): void
  /** A try begins; what it says afterwards counts for the number that was allowed then. */
  begin(): Try
}

export interface Try {
  /** It failed because something ran out: seconds until the next, or null when there is no point in waiting any longer. */
  failed(earlier: readonly Try[]): number | null
  /** It ended in any other way. */
  ended(): void
  /** Whether it began when no fewer trials could be run. */
  readonly isAlone: boolean
}

export interface AtOnceParts {
  readonly asked: number
  readonly resize: (count: number) => void
  readonly say: (line: string) => void
  readonly nowMs?: () => number
}

/** Tries of a trial that ran alone and still found nothing left, after which it fails. */
const triesAlone = 4

/** One shortage shows in many places at once. */
const sameShortageMs = 10_000

export function makeAtOnce({ asked: first, resize, say, nowMs = Date.now }: AtOnceParts): AtOnce {
  let asked = first
  let allowed = Number.POSITIVE_INFINITY
  let wentWell = 0
  let reductions = 0
  let reducedMs = Number.NEGATIVE_INFINITY
  /** A trial waited in vain, and nothing has gone well since. */
  let isHopeless = false
  const limit = () => Math.max(1, Math.min(asked, allowed))
  const reduce = (what: string) => {
    const before = limit()
    wentWell = 0
    if (before === 1) return
    allowed = Math.floor(before / 2)
    reductions++
    reducedMs = nowMs()
    resize(limit())
    say(`this machine ran out of ${what} with ${before} concurrent trials; now running ${limit()} at a time`)
  }
  let lastResource: Resource = 'processes'
  return {
    get limit() {
      return limit()
    },
    ask: (count) => {
      asked = count
      resize(limit())
    },
    met: (resource) => {
      lastResource = resource
      if (nowMs() - reducedMs >= sameShortageMs) reduce(resource)
    },
    begin: () => {
      const seen = reductions
      const isAlone = limit() === 1
      return {
        isAlone,
        failed: (earlier) => {
          // A try that began before there were fewer says nothing about whether they are few enough.
          if (seen === reductions) reduce(lastResource)
          const alone = earlier.filter((each) => each.isAlone).length + (isAlone ? 1 : 0)
          isHopeless ||= alone >= triesAlone
          return isHopeless && isAlone ? null : Math.min(2 ** earlier.length, 8)
        },
        ended: () => {
          isHopeless = false
          wentWell++
          if (limit() >= asked || wentWell < limit()) return
          wentWell = 0
          allowed++
          resize(limit())
        },
      }
    },
  }
}
