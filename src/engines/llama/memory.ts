import type { Layout } from './layout.ts'
import type { ModelFile } from './model-file.ts'
import { allocate, type SharedMemory } from './wasm/web-assembly.ts'

/**
 * Allocates a model's memory and fills in its weights and the angles of every position; null when the machine refuses
 * that much.
 */
export function makeMemory(model: ModelFile, layout: Layout): SharedMemory | null {
  const memory = allocate(layout.pages)
  if (memory === null) return null
  for (const [name, at] of layout.weights) {
    model.fill(name, new Float32Array(memory.buffer, at, model.size(name)))
  }
  const { head, theta, context } = model.shape
  const half = head / 2
  const angles = new Float32Array(memory.buffer, layout.angles, context * head)
  for (let i = 0; i < half; i++) {
    const turn = Math.fround(theta ** (-(2 * i) / head))
    for (let position = 0; position < context; position++) {
      const angle = Math.fround(position * turn)
      angles[position * head + i] = Math.cos(angle)
      angles[position * head + half + i] = Math.sin(angle)
    }
  }
  return memory
}
