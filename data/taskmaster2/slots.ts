interface Utterance {
  readonly text: string
  readonly segments?:
    | readonly { readonly text: string; readonly annotations: readonly { readonly name: string }[] }[]
    | null
    | undefined
}

/** Every slot that was marked with one value only, and the spellings it was marked with. */
export function markedSlots(utterances: readonly Utterance[]): Readonly<Record<string, readonly string[]>> {
  const marked = new Map<string, Map<string, string>>()
  for (const { segments } of utterances) {
    for (const { text, annotations } of segments ?? []) {
      for (const { name } of annotations) {
        const values = marked.get(name) ?? new Map<string, string>()
        marked.set(name, values.set(plainWords(text), text.trim()))
      }
    }
  }
  const single = [...marked].filter(([, values]) => values.size === 1 && !values.has(''))
  return Object.fromEntries(single.map(([name, values]) => [name, [...values.values()]]))
}

/** As the check compares them. */
function plainWords(text: string): string {
  const words = text.toLowerCase().replace(/[^\p{L}\p{N}:$.]+/gu, ' ')
  return words
    .replace(/\b(?:a|an|the)\b/g, ' ')
    .replace(/[.\s]+/g, ' ')
    .trim()
}
