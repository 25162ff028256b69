import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { dirname, extname, join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BuildFailure, Loader, OnResolveArgs, Plugin, PluginBuild } from 'esbuild'

export interface ModuleToBundle {
  /** The absolute path of a file or directory, or the name of an installed package. */
  readonly entry: string
  /** Where to look for packages, best first, if the entry is one. */
  readonly packageDirs: readonly string[]
  /** Packages with one fixed location, whichever file imports them: name and file. */
  readonly own: ReadonlyMap<string, string>
  /** Where the code will be written, for the paths in its source map. */
  readonly outDir: string
}

export interface BundledModule {
  /** The file that the entry resolved to. */
  readonly file: string
  /** One ES module with TypeScript and relative imports resolved, and packages imported by absolute path. */
  readonly code: string
  /** The digest of every file that went into it, wherever they are on this machine, without packages. */
  readonly digest: string
}

/** Thrown when the sources cannot be bundled: says what is wrong, and in which line of which file, if known. */
export class BundleFailure extends Error {
  constructor(
    message: string,
    readonly place: { readonly file: string; readonly line: number; readonly text: string } | null,
  ) {
    super(message)
  }
}

/** Bundles TypeScript or JavaScript into one module that Node can import from anywhere. */
export async function bundleModule(asked: ModuleToBundle): Promise<BundledModule> {
  const workingDir = process.cwd()
  const { outputFiles, metafile } = await runEsbuild({
    entryPoints: [asked.entry],
    absWorkingDir: workingDir,
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // Without this, packages would be resolved to their builds for bundlers.
    conditions: [],
    resolveExtensions: ['.ts', '.mts', '.js', '.mjs', '.cjs', '.json'],
    sourcemap: 'inline',
    outfile: join(asked.outDir, 'module.mjs'),
    banner: {
      js: "import { createRequire as $$require } from 'node:module'; const require = $$require(import.meta.url);",
    },
    logLevel: 'silent',
    plugins: [packagesStayOutside(asked), modulesKnowTheirPlace],
  })
  const [output] = outputFiles ?? []
  const [entry] = Object.values(metafile?.outputs ?? {})
  if (!output || !entry?.entryPoint) throw new Error(`esbuild produced no output for ${asked.entry}`)
  const file = resolve(workingDir, entry.entryPoint)
  const inputs = Object.keys(metafile?.inputs ?? {}).map((path) => resolve(workingDir, path))
  return { file, code: output.text, digest: await digestOf(inputs, dirname(file)) }
}

type Esbuild = typeof import('esbuild')
let running = 0

/** Esbuild works in a separate process, which need not stay. */
async function runEsbuild(options: Parameters<Esbuild['build']>[0]): Promise<Awaited<ReturnType<Esbuild['build']>>> {
  const { build, stop } = await import('esbuild')
  running += 1
  try {
    return await build(options)
  } catch (error) {
    throw isBuildFailure(error) ? asFailure(error) : error
  } finally {
    running -= 1
    if (running === 0) await stop()
  }
}

function isBuildFailure(error: unknown): error is BuildFailure {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors)
}

function asFailure({ errors: [first], message }: BuildFailure): BundleFailure {
  const { text = message, location = null } = first ?? {}
  const place = location && { file: resolve(location.file), line: location.line, text: location.lineText.trim() }
  return new BundleFailure(text, place)
}

const looked = Symbol('looked')

/** Packages are resolved as from the importing file, and Node itself imports them from there. */
function packagesStayOutside({ entry, packageDirs, own }: ModuleToBundle): Plugin {
  const place = async (build: PluginBuild, args: OnResolveArgs) => {
    if (args.pluginData === looked || args.path.startsWith('#') || isBuiltin(args.path)) return undefined
    if (args.kind === 'entry-point') return args.path === entry ? findPackage(build, entry, packageDirs) : undefined
    const owned = own.get(args.path)
    const found = owned ?? (await look(build, args))
    // Anything outside node_modules belongs to the sources: a workspace, or a path of tsconfig.json.
    if (found === null || (owned === undefined && !found.includes(`${sep}node_modules${sep}`))) return undefined
    return { path: args.kind.startsWith('require') ? found : pathToFileURL(found).href, external: true }
  }
  return {
    name: 'packages-stay-outside',
    setup: (build) => build.onResolve({ filter: /^[^./]/ }, (args) => place(build, args)),
  }
}

async function look(build: PluginBuild, { path, kind, importer, resolveDir }: OnResolveArgs): Promise<string | null> {
  const found = await build.resolve(path, { kind, importer, resolveDir, pluginData: looked })
  return found.errors.length > 0 || found.external || found.namespace !== 'file' ? null : found.path
}

async function findPackage(build: PluginBuild, name: string, dirs: readonly string[]) {
  for (const resolveDir of dirs) {
    const found = await build.resolve(name, { kind: 'import-statement', resolveDir, pluginData: looked })
    if (found.errors.length === 0 && found.namespace === 'file') return { path: found.path }
  }
  return { errors: [{ text: `no package ${name} is installed` }] }
}

/** A file that asks for its own location gets that of its source, where the files are that it wants to read. */
const modulesKnowTheirPlace: Plugin = {
  name: 'modules-know-their-place',
  setup: (build) => {
    build.onLoad({ filter: /\.[cm]?[jt]s$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      if (!/\bimport\.meta\b|\b__(?:dir|file)name\b/.test(text)) return undefined
      const url = JSON.stringify(pathToFileURL(path).href)
      const [file, dir] = [JSON.stringify(path), JSON.stringify(dirname(path))]
      const loader: Loader = /ts$/.test(extname(path)) ? 'ts' : 'js'
      try {
        const { code } = await build.esbuild.transform(text, {
          loader,
          sourcefile: path,
          sourcemap: 'inline',
          define: {
            'import.meta.url': url,
            'import.meta.filename': file,
            'import.meta.dirname': dir,
            __filename: file,
            __dirname: dir,
          },
        })
        return { contents: code, loader: 'js', resolveDir: dirname(path) }
      } catch {
        // Loaded the usual way, its errors are reported with their lines.
        return undefined
      }
    })
  },
}

/** File names are relative to the entry's folder, so a folder that moves as a whole keeps its digest. */
async function digestOf(files: readonly string[], root: string): Promise<string> {
  const hash = createHash('sha256')
  const named = files.map((file) => [relative(root, file), file] as const)
  for (const [name, file] of named.sort(([a], [b]) => (a < b ? -1 : 1))) {
    const content = await readFile(file)
    hash.update(`${name}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}
