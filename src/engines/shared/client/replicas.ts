import type { Wire } from './exchange.ts'
import type { HealthCheck } from './health.ts'

/** One address at which the model answers. */
export interface Replica {
  readonly wire: Wire
  readonly health: HealthCheck
}

/** A place at a replica, for one request. */
export interface Seat {
  readonly replica: Replica
  /** To be called when the request is over, whatever became of it. */
  leave(): void
}

interface Place {
  readonly replica: Replica
  /** Requests under way. */
  open: number
  /** In a row. */
  failures: number
  /** Not asked before this; null while nothing is wrong with it. */
  asideUntil: number | null
  isLookedAt: boolean
}

/** How long a replica that failed is left alone; twice as long each time, up to the second. */
const asideMs = 10_000
const longestAsideMs = 300_000

/** A replica with this many more calls under way than the one with the fewest, or half as many again, is clearly busier. */
const slack = 4

/** The addresses that serve one model. Requests go where the fewest are under way; what cannot be reached is left alone for a while. */
export class Replicas {
  private readonly places: readonly Place[]
  private turn = 0

  constructor(
    readonly all: readonly [Replica, ...Replica[]],
    private readonly now: () => number = () => performance.now(),
  ) {
    this.places = all.map((replica) => ({ replica, open: 0, failures: 0, asideUntil: null, isLookedAt: false }))
  }

  /** The replica to ask: the usual one, which has the conversation's beginning cached, unless it is clearly busier than another. */
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

  /** Says that a replica could not be reached. True when another one can be asked at once. */
  setAside(replica: Replica): boolean {
    const place = this.placeOf(replica)
    // Many calls may fail there at once: that is one failure.
    if (place.asideUntil === null || this.now() >= place.asideUntil) {
      place.asideUntil = this.now() + Math.min(longestAsideMs, asideMs * 2 ** place.failures)
      place.failures++
    }
    return this.places.some(({ asideUntil }) => asideUntil === null)
  }

  /** Says that a replica answered. */
  hasAnswered(replica: Replica): void {
    const place = this.placeOf(replica)
    place.failures = 0
    place.asideUntil = null
  }

  /** Replicas that may be asked: not the one to avoid where there is another; when all are set aside, the one whose time is up first. */
  private candidates(avoided: Replica | null): readonly Place[] {
    const fine = this.places.filter(({ asideUntil }) => asideUntil === null)
    const others = fine.filter(({ replica }) => replica !== avoided)
    if (others.length > 0) return others
    if (fine.length > 0) return fine
    return [...this.places].sort((a, b) => (a.asideUntil ?? 0) - (b.asideUntil ?? 0)).slice(0, 1)
  }

  /** A replica whose time is up is looked at beside the calls: none of them waits for one that may be gone. */
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
