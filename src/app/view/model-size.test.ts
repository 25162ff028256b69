import { expect, test } from 'vitest'
import { sizeOf } from './model-size.ts'

test.each([
  ['org/Qwen3-8B', 8],
  ['org/Qwen3-0.6B-sft', 0.6],
  ['llama_70b', 70],
  ['org/SmolLM2-360M', 0.36],
  ['org/Qwen3-30B-A3B', 30],
  ['8b', 8],
  ['org/gpt-4o', null],
  ['org/tb2', null],
  ['org/abc8bd', null],
  ['', null],
])('%s has %s billion parameters', (name, size) => expect(sizeOf(name)).toBe(size))
