import { ordersOf } from './orders.ts'

/** A published Dockerfile, and what is known about its source. */
export interface PublishedDockerfile {
  readonly repo: string
  readonly description: string
  readonly stars: number
  readonly text: string
}

/**
 * E2: the published Dockerfile that fits a keyword best, or null. One that only starts something is too simple to help;
 * one that copies neighboring files or has several stages cannot be built without the rest of its repository.
 */
export function findDockerfile(keyword: string, published: readonly PublishedDockerfile[]): PublishedDockerfile | null {
  const ranked = published
    .filter(({ text }) => !isTooSimple(text) && isWhole(text))
    .map((file) => ({ file, score: relevance(keyword.toLowerCase(), file) }))
    .filter(({ score }) => score >= 20)
    .sort((a, b) => b.score - a.score || (a.file.repo < b.file.repo ? -1 : 1))
  return ranked[0]?.file ?? null
}

/**
 * A match in the name counts more than one in the description, and that more than one in the text; stars only break
 * ties.
 */
function relevance(keyword: string, { repo, description, stars, text }: PublishedDockerfile): number {
  const word = new RegExp(`(?<![a-z0-9])${keyword.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![a-z0-9])`)
  const has = (given: string) => word.test(given.toLowerCase())
  const fits = (has(repo) ? 50 : 0) + (has(description) ? 30 : 0) + (has(text) ? 20 : 0)
  return fits === 0 ? 0 : fits + Math.min(30, stars / 100) + (stars > 50 ? 10 : 0)
}

function isTooSimple(text: string): boolean {
  const orders = ordersOf(text)
  return orders.length < 3 || orders.every(({ name }) => ['FROM', 'CMD', 'ENTRYPOINT'].includes(name))
}

function isWhole(text: string): boolean {
  const orders = ordersOf(text)
  const copies = orders.some(({ name, text: order }) => name === 'COPY' || (name === 'ADD' && !/\shttps?:/.test(order)))
  return !copies && orders.filter(({ name }) => name === 'FROM').length === 1
}
