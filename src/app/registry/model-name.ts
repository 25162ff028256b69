/**
 * Splits a model's name from its provider. With three or more parts, the first is a provider (`hosted_vllm/org/name`);
 * with two it may be an organization, so both stay together (`openai/gpt-x`, `org/name`).
 */
export function modelName(given: string): { readonly name: string; readonly provider: string } {
  const [provider = '', ...rest] = given.split('/')
  return rest.length >= 2
    ? { name: rest.join('/'), provider }
    : { name: given, provider: rest.length === 1 ? provider : '' }
}
