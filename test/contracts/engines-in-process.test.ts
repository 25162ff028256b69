import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import llama from '../../src/engines/llama/index.ts'
import scripted from '../../src/engines/scripted/index.ts'
import { makeGguf, tiny } from '../make-gguf.ts'
import { inProcessLaws } from './engine-in-process.ts'

const dir = mkdtempSync(join(tmpdir(), 'engines-'))
afterAll(() => rmSync(dir, { recursive: true }))

const context = { env: {}, stateDir: '/nonexistent' }
const script = join(dir, 'turns.yaml')
writeFileSync(script, '- hello to you, and to everyone who listens\n')
const file = join(dir, 'tiny.gguf')
writeFileSync(file, makeGguf({ ...tiny, context: 8192 }))

inProcessLaws('scripted', {
  make: (options) =>
    scripted.make(scripted.options.parse({ model: 'm', script, tokens_per_sec: 500, ...options }), context),
  slow: { latency_ms: 60_000 },
  forgetful: { context_tokens: 100 },
})

inProcessLaws('llama', {
  make: (options) => llama.make(llama.options.parse({ model: 'm', file, ...options }), context),
  slow: { max_output_tokens: 8000 },
  forgetful: { context_tokens: 100 },
})
