interface Utterance {
  readonly text: string
  readonly segments?:
    | readonly { readonly text: string; readonly annotations: readonly { readonly name: string }[] }[]
    | null
    | undefined
}

/**
 * Every slot marked with a single value, and the spellings used. Rejected values are ignored, and an accepted one
 * overrides all others.
 */
export function markedSlots(utterances: readonly Utterance[]): Readonly<Record<string, readonly string[]>> {
  const marked = new Map<string, Map<string, string>>()
  const accepted = new Set<string>()
  for (const { segments } of utterances) {
    for (const { text, annotations } of segments ?? []) {
      for (const { name: written } of annotations) {
        const name = written.replace(/\.accept$/, '')
        const isAccepted = name !== written
        if (written.endsWith('.reject') || (accepted.has(name) && !isAccepted)) continue
        const before = isAccepted && !accepted.has(name) ? undefined : marked.get(name)
        if (isAccepted) accepted.add(name)
        marked.set(name, (before ?? new Map<string, string>()).set(plainWords(text), text.trim()))
      }
    }
  }
  const single = [...marked].filter(([, values]) => values.size === 1 && !values.has(''))
  return Object.fromEntries(single.map(([name, values]) => [name, [...values.values()]]))
}

/** Without articles, punctuation and capitals, in which spellings of the same value differ. */
function plainWords(text: string): string {
  const words = text.toLowerCase().replace(/[^\p{L}\p{N}:$.]+/gu, ' ')
  return words
    .replace(/\b(?:a|an|the)\b/g, ' ')
    .replace(/[.\s]+/g, ' ')
    .trim()
}
