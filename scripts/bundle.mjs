// Turns one TypeScript file of this checkout into a program for Node: Node 20 cannot strip types itself.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = resolve(import.meta.dirname, '..')

/** A new directory inside the checkout, so that packages resolve from it; removed when this process ends. */
export function makeScratchDir() {
  const parent = join(root, '.scratch')
  mkdirSync(parent, { recursive: true })
  const dir = mkdtempSync(join(parent, 'run-'))
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }))
  return dir
}

/** Bundles `file` into `dir` and returns the path of the program. `ot-agent` resolves to the built package. */
export async function bundle(file, dir) {
  const outfile = join(dir, `${basename(file, '.ts')}.mjs`)
  await build({
    entryPoints: [file],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'external',
    sourcemap: 'inline',
    logLevel: 'warning',
    plugins: [{ name: 'own-package', setup: (plugin) => plugin.onResolve({ filter: /^ot-agent$/ }, ownPackage) }],
  })
  return outfile
}

function ownPackage() {
  return { path: pathToFileURL(join(root, 'dist/index.js')).href, external: true }
}
