import type { ModelShape } from '../src/engines/llama/shape.ts'

/** Weights by name, as floats. */
export type Weights = (name: string) => Float32Array

/** A Qwen3 model's logits for the token after `ids`, computed the textbook way, one number at a time. */
export function plainLogits(shape: ModelShape, weights: Weights, ids: readonly number[]): number[] {
  const { width, layers } = shape
  const embedding = weights('token_embd.weight')
  let rows = ids.map((id) => [...embedding.subarray(id * width, (id + 1) * width)])
  for (let layer = 0; layer < layers; layer++) {
    const weight = (name: string) => weights(`blk.${layer}.${name}.weight`)
    const seen = attention(
      shape,
      weight,
      rows.map((row) => normed(row, weight('attn_norm'), shape.epsilon)),
    )
    rows = rows.map((row, i) => sum(row, times(weight('attn_output'), seen[i] ?? [])))
    rows = rows.map((row) => {
      const input = normed(row, weight('ffn_norm'), shape.epsilon)
      const up = times(weight('ffn_up'), input)
      const gate = times(weight('ffn_gate'), input).map((value, i) => (value / (1 + Math.exp(-value))) * (up[i] ?? 0))
      return sum(row, times(weight('ffn_down'), gate))
    })
  }
  const last = normed(rows.at(-1) ?? [], weights('output_norm.weight'), shape.epsilon)
  return times(weights('output.weight'), last)
}

function attention(shape: ModelShape, weight: (name: string) => Float32Array, rows: readonly number[][]): number[][] {
  const { heads, kvHeads, head } = shape
  const project = (row: number[], part: 'q' | 'k', position: number) =>
    inHeads(times(weight(`attn_${part}`), row), head).map((each) =>
      turned(normed(each, weight(`attn_${part}_norm`), shape.epsilon), position, shape.theta),
    )
  const queries = rows.map((row, i) => project(row, 'q', i))
  const keys = rows.map((row, i) => project(row, 'k', i))
  const values = rows.map((row) => inHeads(times(weight('attn_v'), row), head))
  return rows.map((_, i) =>
    Array.from({ length: heads }, (_, h) => {
      const of = Math.floor(h / (heads / kvHeads))
      const scores = keys.slice(0, i + 1).map((key) => dot(queries[i]?.[h] ?? [], key[of] ?? []) / Math.sqrt(head))
      const top = Math.max(...scores)
      const powers = scores.map((score) => Math.exp(score - top))
      const total = powers.reduce((a, b) => a + b)
      return Array.from({ length: head }, (_, d) =>
        powers.reduce((found, power, j) => found + (power / total) * (values[j]?.[of]?.[d] ?? 0), 0),
      )
    }).flat(),
  )
}

function turned(values: number[], position: number, theta: number): number[] {
  const half = values.length / 2
  return values.map((value, i) => {
    const angle = position * theta ** (-(2 * (i % half)) / values.length)
    const other = i < half ? -(values[i + half] ?? 0) : (values[i - half] ?? 0)
    return value * Math.cos(angle) + other * Math.sin(angle)
  })
}

const inHeads = (values: number[], head: number) =>
  Array.from({ length: values.length / head }, (_, h) => values.slice(h * head, (h + 1) * head))
const sum = (a: number[], b: number[]) => a.map((value, i) => value + (b[i] ?? 0))

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let all = 0
  for (let i = 0; i < a.length; i++) all += (a[i] as number) * (b[i] as number)
  return all
}

function times(matrix: Float32Array, row: readonly number[]): number[] {
  return Array.from({ length: matrix.length / row.length }, (_, o) =>
    dot(matrix.subarray(o * row.length, (o + 1) * row.length), row),
  )
}

function normed(values: readonly number[], weight: Float32Array, epsilon: number): number[] {
  const scale = 1 / Math.sqrt(dot(values, values) / values.length + epsilon)
  return values.map((value, i) => value * scale * (weight[i] ?? 0))
}
