// Bundles the command line and the library with esbuild: one small entry, everything else in chunks loaded on demand.
// With --types it also writes the type declarations for users of the library, if TypeScript is installed.
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'

/** Most of Zod is its messages in fifty languages, which would be read at every start. */
const zodLanguages = /zod[\\/]v4[\\/]locales[\\/]index\.js$/
const onlyEnglish = ({ path }) => ({ contents: "export { default as en } from './en.js'", resolveDir: dirname(path) })

for (const made of ['cli', 'chunks', 'index.js', 'index.js.map'])
  rmSync(join('dist', made), { recursive: true, force: true })
await build({
  entryPoints: ['src/cli/main.ts', 'src/index.ts'],
  outdir: 'dist',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  sourcemap: 'linked',
  // Native code, packages that only their users have, and database drivers. Of DuckDB only the native part stays
  // outside: the rest is 181 files, which take ten times as long to load as when bundled.
  external: [
    '@lydell/node-pty',
    'esbuild',
    '@duckdb/node-bindings',
    'libsql',
    'postgres',
    '@daytonaio/sdk',
    'e2b',
    'modal',
  ],
  chunkNames: 'chunks/[name]-[hash]',
  logLevel: 'warning',
  plugins: [{ name: 'one-language', setup: (plugin) => plugin.onLoad({ filter: zodLanguages }, onlyEnglish) }],
  banner: {
    js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
  },
})
await buildViewer()
if (process.argv.includes('--types') && isInstalled('typescript')) {
  rmSync('dist/types', { recursive: true, force: true })
  execFileSync(process.execPath, ['scripts/types.mjs', 'dist/types'], { stdio: 'inherit' })
}

/** The viewer's page: small, without a framework; the terminal emulator loads on demand. */
async function buildViewer() {
  rmSync('dist/web', { recursive: true, force: true })
  await build({
    entryPoints: ['web/app.ts', 'web/style.css', 'web/index.html', 'web/icon.svg'],
    outdir: 'dist/web',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: ['chrome109', 'firefox115', 'safari16.4'],
    loader: { '.html': 'copy', '.svg': 'copy' },
    chunkNames: 'chunks/[name]-[hash]',
    logLevel: 'warning',
  })
}

/** Without development packages it is missing, and the program must still build. */
function isInstalled(name) {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}
