import type { Wire } from './exchange.ts'
import type { HealthCheck } from './health.ts'

/** One address that serves the model. */
export interface Replica {
  readonly wire: Wire
  readonly health: HealthCheck
}

/** A place at a replica, for one request. */
export interface Seat {
  readonly replica: Replica
  /** Call it when the request is over, whatever its outcome. */
  leave(): void
}

interface Place {
  readonly replica: Replica
  /** Requests in progress. */
  open: number
  /** Consecutive failures. */
  failures: number
  /** Not used before this time; null while the replica works. */
  asideUntil: number | null
  isLookedAt: boolean
}

/** How long a failed replica is set aside at first, and at most; the time doubles with each failure. */
const asideMs = 10_000
const longestAsideMs = 300_000

/**
 * A replica is clearly busier if it has over this many calls more than the least busy one, and over half as many again.
 */
const slack = 4

/**
 * The addresses that serve one model. Requests go to the least busy one; an unreachable one is set aside for a while.
 */
export class Replicas {
  private readonly places: readonly Place[]
  private turn = 0

  constructor(
    readonly all: readonly [Replica, ...Replica[]],
    private readonly now: () => number = () => performance.now(),
  ) {
    this.places = all.map((replica) => ({ replica, open: 0, failures: 0, asideUntil: null, isLookedAt: false }))
  }

  /**
   * The replica to ask: the usual one, which has cached the conversation's beginning, unless it is clearly busier than
   * another.
   */
  take(model: string, usual: Replica | null, avoided: Replica | null): Seat {
    for (const place of this.places) this.lookAgain(place, model)
    const candidates = this.candidates(avoided)
    const least = Math.min(...candidates.map(({ open }) => open))
    const own = candidates.find(({ replica }) => replica === usual)
    const isBusier = own !== undefined && own.open - least > Math.max(slack, least / 2)
    const idlest = candidates.filter(({ open }) => open === least)
    const place = own && !isBusier ? own : idlest[this.turn++ % idlest.length]
    if (!place) throw new Error('expected at least one replica')
    place.open++
    return {
      replica: place.replica,
      leave: () => {
        place.open--
      },
    }
  }

  /** Reports that a replica could not be reached. True when another one can be asked at once. */
  setAside(replica: Replica): boolean {
    const place = this.placeOf(replica)
    // Many calls may fail there at once, which is a single failure.
    if (place.asideUntil === null || this.now() >= place.asideUntil) {
      place.asideUntil = this.now() + Math.min(longestAsideMs, asideMs * 2 ** place.failures)
      place.failures++
    }
    return this.places.some(({ asideUntil }) => asideUntil === null)
  }

  /** Reports that a replica answered. */
  hasAnswered(replica: Replica): void {
    const place = this.placeOf(replica)
    place.failures = 0
    place.asideUntil = null
  }

  /**
   * Replicas that may be asked: not the one to avoid if there is another; if all are set aside, the one that is due
   * first.
   */
  private candidates(avoided: Replica | null): readonly Place[] {
    const fine = this.places.filter(({ asideUntil }) => asideUntil === null)
    const others = fine.filter(({ replica }) => replica !== avoided)
    if (others.length > 0) return others
    if (fine.length > 0) return fine
    return [...this.places].sort((a, b) => (a.asideUntil ?? 0) - (b.asideUntil ?? 0)).slice(0, 1)
  }

  /** Checks a replica that is due again in the background, so that no call waits for one that may be down. */
  private lookAgain(place: Place, model: string): void {
    if (this.all.length === 1 || place.asideUntil === null || place.isLookedAt || this.now() < place.asideUntil) return
    place.isLookedAt = true
    place.replica.health
      .check(model, new AbortController().signal, 1)
      .then(
        ({ kind }) => {
          if (kind === 'healthy') place.asideUntil = null
          else this.setAside(place.replica)
        },
        () => this.setAside(place.replica),
      )
      .finally(() => {
        place.isLookedAt = false
      })
  }

  private placeOf(replica: Replica): Place {
    const place = this.places.find((each) => each.replica === replica)
    if (!place) throw new Error('expected one of these replicas')
    return place
  }
}
