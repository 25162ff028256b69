import type { Resource } from '../../lib/exhaustion.ts'

/**
 * How many trials run at once when this machine runs out of something: half as many, then gradually more as trials
 * succeed.
 */
export interface AtOnce {
  /** As many as requested, or fewer. */
  readonly limit: number
  /** Changes how many are requested. */
  ask(count: number): void
  /** Reports that something ran out. */
  met(resource: Resource): void
  /** A try begins; its outcome counts for the number that was allowed at that time. */
  begin(): Try
}

export interface Try {
  /**
   * It failed because something ran out: returns the seconds until the next try, or null when waiting longer is
   * pointless.
   */
  failed(earlier: readonly Try[]): number | null
  /** It ended in any other way. */
  ended(): void
  /** Whether it began when the number of trials could not be reduced further. */
  readonly isAlone: boolean
}

export interface AtOnceParts {
  readonly asked: number
  readonly resize: (count: number) => void
  readonly say: (line: string) => void
  readonly nowMs?: () => number
}

/** How often a trial that runs alone may still find the resource exhausted before it fails. */
const triesAlone = 4

/** One shortage shows up in many places at once. */
const sameShortageMs = 10_000

export function makeAtOnce({ asked: first, resize, say, nowMs = Date.now }: AtOnceParts): AtOnce {
  let asked = first
  let allowed = Number.POSITIVE_INFINITY
  let wentWell = 0
  let reductions = 0
  let reducedMs = Number.NEGATIVE_INFINITY
  /** A trial waited in vain, and none has succeeded since. */
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
          // A try that began before the reduction says nothing about whether the new number is low enough.
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
