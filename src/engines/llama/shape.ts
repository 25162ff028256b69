/** The dimensions of a model. */
export interface ModelShape {
  readonly layers: number
  readonly width: number
  readonly inner: number
  readonly heads: number
  readonly kvHeads: number
  readonly head: number
  readonly vocab: number
  /** The maximum number of positions in a conversation. */
  readonly context: number
  readonly epsilon: number
  readonly theta: number
}

/** The weights of one layer, named as in GGUF files, with the number of floats in each. */
export function layerWeights({ width, inner, heads, kvHeads, head }: ModelShape) {
  return {
    attn_norm: width,
    attn_q: width * heads * head,
    attn_k: width * kvHeads * head,
    attn_v: width * kvHeads * head,
    attn_q_norm: head,
    attn_k_norm: head,
    attn_output: width * heads * head,
    ffn_norm: width,
    ffn_gate: width * inner,
    ffn_up: width * inner,
    ffn_down: width * inner,
  } as const
}
export type LayerWeight = keyof ReturnType<typeof layerWeights>

/**
 * Every weight of a model by its GGUF name, with its number of floats. `output` exists only if it differs from the
 * embedding.
 */
export function weightSizes(shape: ModelShape, hasOutput: boolean): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>([['token_embd.weight', shape.vocab * shape.width]])
  for (let layer = 0; layer < shape.layers; layer++) {
    for (const [name, floats] of Object.entries(layerWeights(shape))) sizes.set(`blk.${layer}.${name}.weight`, floats)
  }
  sizes.set('output_norm.weight', shape.width)
  if (hasOutput) sizes.set('output.weight', shape.vocab * shape.width)
  return sizes
}
