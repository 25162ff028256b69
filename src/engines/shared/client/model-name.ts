import type { ServedModel } from '../../../formats/model-dialect.ts'

/**
 * The name a server knows a model by. A provider's prefix such as `openai/` may be one, or part of the name itself
 * (`openai/gpt-oss-120b`): what the server lists decides; an engine's own prefixes go when nothing is known.
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
