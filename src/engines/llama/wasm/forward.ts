import type { Layout, WorkOffsets } from '../layout.ts'
import type { LayerWeight, ModelShape } from '../shape.ts'
import { all, assemble, type Code, call, type Func, func, get, i32, type Local } from './assemble.ts'
import { attend } from './attend.ts'
import { float, gated, gather, matmul, norm, remember, rotate, rowBytes, rowField } from './kernels.ts'

/**
 * The module of a model. Its main function, `forward(lane, rows, wanted)`, computes a step: it reads the rows from the
 * table in the lane's part of the memory, adds their keys and values to the memories of their conversations, and writes
 * the logits of the wanted rows.
 */
export function makeModule(shape: ModelShape, layout: Layout): Uint8Array<ArrayBuffer> {
  const kernels = makeKernels(shape, layout)
  const functions = [...new Set(Object.values(kernels))]
  return assemble([...functions, makeForward(shape, layout, kernels, functions)], layout.pages)
}

type Kernels = ReturnType<typeof makeKernels>

/** Kernels are specialized for the model's dimensions; equal dimensions share one. */
function makeKernels(shape: ModelShape, { angles }: Layout) {
  const { width, inner, heads, head, epsilon } = shape
  const bySize = new Map<number, Func>()
  const sized = (inputs: number) => {
    const made = bySize.get(inputs) ?? matmul(inputs)
    bySize.set(inputs, made)
    return made
  }
  const wide = norm(width, epsilon)
  return {
    fromWidth: sized(width),
    fromHeads: sized(heads * head),
    fromInner: sized(inner),
    norm: wide,
    headNorm: width === head ? wide : norm(head, epsilon),
    rotate: rotate(head, angles),
    attend: attend(shape),
    gather,
    remember,
    gated,
  }
}

function makeForward(shape: ModelShape, layout: Layout, kernels: Kernels, functions: readonly Func[]): Func {
  const { width, vocab } = shape
  const weight = (name: string) => i32.const(layout.weights.get(`${name}.weight`) ?? 0)
  const output = layout.weights.has('output.weight') ? 'output' : 'token_embd'
  return func('forward', ['lane', 'rows', 'wanted'], (_, { lane, rows, wanted }) => {
    const work = (part: keyof WorkOffsets) => i32.add(get(lane), i32.const(layout.work[part]))
    const run = (kernel: Func, ...args: readonly Code[]) => call(functions, kernel, ...args)
    const bytes = i32.const(width * float)
    const tokens = i32.add(work('rows'), i32.const(rowField.token))
    const step = { shape, layout, kernels, work, run, rows }
    return all(
      run(gather, work('x'), weight('token_embd'), tokens, i32.const(rowBytes), get(rows), bytes),
      ...Array.from({ length: shape.layers }, (_, layer) =>
        all(
          attention(step, layer, (name) => weight(`blk.${layer}.${name}`)),
          feedForward(step, (name) => weight(`blk.${layer}.${name}`)),
        ),
      ),
      run(gather, work('chosen'), work('x'), work('wanted'), i32.const(float), get(wanted), bytes),
      run(kernels.norm, work('normed'), work('chosen'), weight('output_norm'), get(wanted)),
      run(
        kernels.fromWidth,
        work('logits'),
        weight(output),
        work('normed'),
        get(wanted),
        i32.const(vocab),
        i32.const(0),
      ),
    )
  })
}

interface Step {
  readonly shape: ModelShape
  readonly layout: Layout
  readonly kernels: Kernels
  work(part: keyof WorkOffsets): Code
  run(kernel: Func, ...args: readonly Code[]): Code
  readonly rows: Local
}

function attention(step: Step, layer: number, weight: (name: LayerWeight) => Code): Code {
  const { shape, layout, kernels, work, run } = step
  const { width, heads, kvHeads, head } = shape
  const rows = get(step.rows)
  const keys = i32.const(layer * 2 * layout.layerBytes)
  const values = i32.const((layer * 2 + 1) * layout.layerBytes)
  const kvBytes = i32.const(kvHeads * head * float)
  const project = (to: 'q' | 'k' | 'v', count: number) =>
    run(kernels.fromWidth, work(to), weight(`attn_${to}`), work('normed'), rows, i32.const(count * head), i32.const(0))
  const turn = (part: 'q' | 'k', count: number) =>
    all(
      run(kernels.headNorm, work(part), work(part), weight(`attn_${part}_norm`), i32.mul(rows, i32.const(count))),
      run(kernels.rotate, work(part), work('rows'), rows, i32.const(count)),
    )
  return all(
    run(kernels.norm, work('normed'), work('x'), weight('attn_norm'), rows),
    project('q', heads),
    project('k', kvHeads),
    project('v', kvHeads),
    turn('q', heads),
    turn('k', kvHeads),
    run(remember, work('k'), work('rows'), rows, keys, kvBytes),
    run(remember, work('v'), work('rows'), rows, values, kvBytes),
    run(kernels.attend, work('found'), work('q'), work('rows'), rows, keys, values, work('scores')),
    run(kernels.fromHeads, work('x'), weight('attn_output'), work('found'), rows, i32.const(width), i32.const(1)),
  )
}

function feedForward({ shape, kernels, work, run, rows: local }: Step, weight: (name: LayerWeight) => Code): Code {
  const { width, inner } = shape
  const rows = get(local)
  const expand = (to: 'gate' | 'up') =>
    run(kernels.fromWidth, work(to), weight(`ffn_${to}`), work('normed'), rows, i32.const(inner), i32.const(0))
  return all(
    run(kernels.norm, work('normed'), work('x'), weight('ffn_norm'), rows),
    expand('gate'),
    expand('up'),
    run(gated, work('gate'), work('up'), i32.mul(rows, i32.const(inner * float))),
    run(kernels.fromInner, work('x'), weight('ffn_down'), work('gate'), rows, i32.const(width), i32.const(1)),
  )
}
