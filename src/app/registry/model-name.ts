/**
 * The name of a model and who served it. Three or more parts begin with a provider (`hosted_vllm/org/name`); of two the first may be an
 * organization as well, so that they stay together (`openai/gpt-x`, `org/name`).
 */
export function modelName(given: string): { readonly name: string; readonly provider: string } {
  const [provider = '', ...rest] = given.split('/')
  return rest.length >= 2
    ? { name: rest.join('/'), provider }
    : { name: given, provider: rest.length === 1 ? provider : '' }
}
