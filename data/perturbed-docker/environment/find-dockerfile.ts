/** A published Dockerfile, and what is known about where it was published. */
export interface PublishedDockerfile {
  readonly repo: string
  readonly description: string
  readonly stars: number
  readonly text: string
}

/** E2: the published Dockerfile that fits a keyword best, or null. What only starts something is too simple to help. */
export function findDockerfile(keyword: string, published: readonly PublishedDockerfile[]): PublishedDockerfile | null {
  const ranked = published
    .filter(({ text }) => !isTooSimple(text))
    .map((file) => ({ file, score: relevance(keyword.toLowerCase(), file) }))
    .filter(({ score }) => score >= 20)
    .sort((a, b) => b.score - a.score || (a.file.repo < b.file.repo ? -1 : 1))
  return ranked[0]?.file ?? null
}

/** A name counts more than a description, that more than the text; stars only decide between those that fit. */
function relevance(keyword: string, { repo, description, stars, text }: PublishedDockerfile): number {
  const fits =
    (repo.toLowerCase().includes(keyword) ? 50 : 0) +
    (description.toLowerCase().includes(keyword) ? 30 : 0) +
    (text.toLowerCase().includes(keyword) ? 20 : 0)
  return fits === 0 ? 0 : fits + Math.min(30, stars / 100) + (stars > 50 ? 10 : 0)
}

function isTooSimple(text: string): boolean {
  const orders = text.split('\n').flatMap((line) => /^\s*([A-Z]+)\s/.exec(line)?.[1] ?? [])
  return orders.length < 3 || orders.every((order) => ['FROM', 'CMD', 'ENTRYPOINT'].includes(order))
}
