import type { ServedModel } from '../../../formats/model-dialect.ts'

/**
 * The server's name for a model. A provider's prefix such as `openai/` may be just a prefix or part of the name
 * (`openai/gpt-oss-120b`): the server's list decides; if nothing is known, an engine's own prefixes are removed.
 */
export function nameOnServer(
  model: string,
  served: readonly ServedModel[] | null,
  ownPrefixes: readonly string[],
): string {
  const prefix = ownPrefixes.find((candidate) => model.startsWith(candidate)) ?? ''
  const bare = model.slice(prefix.length)
  const candidates = [model, bare, model.slice(model.indexOf('/') + 1)]
  return candidates.find((name) => served?.some(({ id }) => id === name)) ?? bare
}
