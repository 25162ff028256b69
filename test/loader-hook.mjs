// Lets Node run the TypeScript sources directly and records which of them it loads: `node --import
// ./test/loader-hook.mjs`.
import { appendFileSync, readFileSync } from 'node:fs'
import { register } from 'node:module'
import { fileURLToPath } from 'node:url'
import { isMainThread } from 'node:worker_threads'
import { transform } from 'esbuild'

// The hooks run in a separate thread, which loads this file again.
if (isMainThread) register(import.meta.url)

export async function load(url, context, nextLoad) {
  if (!url.endsWith('.ts') || url.includes('/node_modules/')) return nextLoad(url, context)
  const path = fileURLToPath(url)
  appendFileSync(process.env.LOADED_FILES, `${path}\n`)
  const { code } = await transform(readFileSync(path, 'utf8'), {
    loader: 'ts',
    format: 'esm',
    target: 'node22',
    tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
  })
  return { format: 'module', source: code, shortCircuit: true }
}
