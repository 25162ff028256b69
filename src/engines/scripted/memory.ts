import type { CountedMessage } from './tokens.ts'

/** What a server keeps between requests: which beginnings it has seen, and how often it was asked the very same. */
export interface Memory {
  /** How many of a conversation's tokens are cached; from now on all of them are. */
  cachedTokens(conversation: readonly CountedMessage[]): number
  /** How often this conversation was asked about before. */
  askedBefore(digest: string): number
}

/** Makes a memory of bounded size: the oldest goes first. */
export function makeMemory(limit = 200_000): Memory {
  const seen = new Set<string>()
  const asked = new Map<string, number>()
  return {
    cachedTokens(conversation) {
      const known = conversation.findLastIndex(({ digest }) => seen.has(digest))
      for (const { digest } of conversation.slice(known + 1)) seen.add(digest)
      forget(seen, limit)
      return conversation.slice(0, known + 1).reduce((sum, { tokens }) => sum + tokens, 0)
    },
    askedBefore(digest) {
      const before = asked.get(digest) ?? 0
      asked.set(digest, before + 1)
      forget(asked, limit)
      return before
    },
  }
}

function forget(kept: Set<string> | Map<string, number>, limit: number): void {
  for (const key of kept.keys()) {
    if (kept.size <= limit) return
    kept.delete(key)
  }
}
