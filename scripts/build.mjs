// Bundles the command line and the library with esbuild: one small entry, everything else in chunks that load when asked for.
import { rmSync } from 'node:fs'
import { build } from 'esbuild'

rmSync('dist', { recursive: true, force: true })
await build({
  entryPoints: ['src/cli/main.ts', 'src/index.ts'],
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  sourcemap: 'linked',
  // Native code, and packages only those who use them have.
  external: ['@lydell/node-pty', 'esbuild', '@duckdb/node-api', '@daytonaio/sdk', 'e2b', 'modal'],
  chunkNames: 'chunks/[name]-[hash]',
  logLevel: 'warning',
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
})
