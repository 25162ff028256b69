/** How often a text occurs. */
export interface PhraseCount {
  readonly phrase: string
  /** How many traces contain it at all. */
  readonly traces: number
  /** By role; roles that never say it are left out. */
  readonly roles: readonly RoleCount[]
}

export interface RoleCount {
  readonly role: string
  readonly times: number
  readonly messages: number
  readonly traces: number
}

type Counts = { times: number; messages: number; traces: number }

/** Counts fixed texts in conversations, matched literally; occurrences do not overlap. */
export class PhraseTally {
  readonly #phrases: readonly { readonly phrase: string; traces: number; readonly roles: Map<string, Counts> }[]

  constructor(phrases: readonly string[]) {
    this.#phrases = [...new Set(phrases)].map((phrase) => ({ phrase, traces: 0, roles: new Map() }))
  }

  /** Adds the messages of one trace. */
  add(messages: readonly { readonly role: string; readonly content: string }[]): void {
    for (const counted of this.#phrases) {
      const seen = new Set<string>()
      for (const { role, content } of messages) {
        const times = timesIn(content, counted.phrase)
        if (times === 0) continue
        const counts = counted.roles.get(role) ?? { times: 0, messages: 0, traces: 0 }
        counted.roles.set(role, counts)
        counts.times += times
        counts.messages++
        if (!seen.has(role)) counts.traces++
        seen.add(role)
      }
      if (seen.size > 0) counted.traces++
    }
  }

  read(): readonly PhraseCount[] {
    return this.#phrases.map(({ phrase, traces, roles }) => ({
      phrase,
      traces,
      roles: [...roles].map(([role, counts]) => ({ role, ...counts })).sort((a, b) => (a.role < b.role ? -1 : 1)),
    }))
  }
}

function timesIn(text: string, phrase: string): number {
  let times = 0
  for (let at = text.indexOf(phrase); at >= 0; at = text.indexOf(phrase, at + phrase.length)) times++
  return times
}
