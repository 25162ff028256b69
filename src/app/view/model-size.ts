/**
 * The parameters of a model in billions, as far as its name says: `Qwen3-8B`, `llama_70b`, `SmolLM2-360M`. Of `30B-A3B` the first counts,
 * which is all of them. Null where the name says nothing.
 */
export function sizeOf(name: string): number | null {
  const [, number = '', unit = ''] = /(?:^|[-_/. ])(\d{1,4}(?:\.\d{1,3})?)([bm])(?=$|[-_/. :@])/i.exec(name) ?? []
  if (number === '') return null
  return unit.toLowerCase() === 'b' ? Number(number) : Number(number) / 1000
}
