import { existsSync, readdirSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf, UserError } from '../../core/errors.ts'
import { type BundledModule, BundleFailure, bundleModule } from '../../lib/bundle-module.ts'
import { makeScratchDir, removeDraft } from '../../lib/drafts.ts'
import { nearest } from '../../lib/nearest.ts'
import { packageRoot } from '../../lib/package-root.ts'
import { oneLine } from '../../lib/visible.ts'
import { type ImportPath, parseImportPath } from './import-path.ts'
import { pickExport } from './pick-export.ts'

/** What an import path led to. */
export interface Imported {
  /** The file, and the export unless it is the default one: for messages. */
  readonly where: string
  readonly value: unknown
  /** The digest of the file and of everything it imports by a relative path. */
  readonly digest: string
}

const loaded = new Map<string, Promise<Imported>>()

/**
 * Loads a user module, once: as with any import, editing the file while a job runs does not change later trials.
 * Whatever is wrong with the module is for the user to fix.
 */
export function loadImported(text: string): Promise<Imported> {
  const known = loaded.get(text)
  if (known) return known
  const loading = load(text)
  loaded.set(text, loading)
  return loading
}

async function load(text: string): Promise<Imported> {
  const path = parseImportPath(text)
  const outDir = await makeScratchDir(join(tmpdir(), 'ot-agent-module-'))
  try {
    const bundled = await bundle(path, outDir)
    const module = await run(bundled, outDir)
    const { name, value } = pickExport(module, path.exportName, shown(bundled.file))
    return { where: shown(bundled.file) + (name === 'default' ? '' : `:${name}`), value, digest: bundled.digest }
  } finally {
    await removeDraft(outDir)
  }
}

async function bundle(path: ImportPath, outDir: string): Promise<BundledModule> {
  // What a plug-in imports from this package must be this very copy, wherever the plug-in is.
  const own = new Map([['ot-agent', join(packageRoot, 'dist/index.js')]])
  try {
    return await bundleModule({ entry: path.from, packageDirs: [process.cwd(), packageRoot], own, outDir })
  } catch (error) {
    if (!(error instanceof BundleFailure)) throw error
    throw error.place === null ? notFound(path, error) : wrongSource(error, error.place)
  }
}

async function run({ file, code }: BundledModule, outDir: string): Promise<Readonly<Record<string, unknown>>> {
  const program = join(outDir, `${basename(file).replace(/\.\w+$/, '')}.mjs`)
  await writeFile(program, code)
  // Errors of the agent should point to lines of its source, not of the compiled code.
  process.setSourceMapsEnabled(true)
  try {
    return await import(/* @vite-ignore */ pathToFileURL(program).href)
  } catch (error) {
    if (error instanceof UserError) throw error
    const at =
      error instanceof Error ? /\(?((?:file:\/\/)?\/[^()\n]+:\d+:\d+)\)?/.exec(error.stack ?? '')?.[1] : undefined
    throw new UserError(
      `${shown(file)}: expected a module that loads, got ${oneLine(messageOf(error))}`,
      at === undefined ? 'no code in it may fail during the import' : `thrown at ${at}`,
    )
  }
}

function wrongSource({ message }: BundleFailure, place: NonNullable<BundleFailure['place']>): UserError {
  const missing = /^Could not resolve "([^"]+)"/.exec(message)?.[1]
  const isPackage = missing !== undefined && !/^[./]/.test(missing)
  return new UserError(
    `${shown(place.file)}:${place.line}: ${oneLine(message)}`,
    isPackage
      ? `install it in the folder of the file: npm install ${missing}`
      : `the line is: ${place.text || '(the end of the file)'}`,
  )
}

function notFound({ from, isPackage }: ImportPath, { message }: BundleFailure): UserError {
  if (isPackage)
    return new UserError(
      `npm:${from}: expected an installed package, found none from ${process.cwd()}`,
      `install it first: npm install ${from}`,
    )
  const expected = `${shown(from)}: expected a TypeScript or JavaScript file, or a folder with an index.ts`
  if (/^No loader is configured/.test(message))
    return new UserError(`${expected}, got another kind of file`, 'pass the file with the code')
  if (!/^Could not resolve/.test(message)) return new UserError(`${shown(from)}: ${oneLine(message)}`, 'fix the file')
  const shipped = join(packageRoot, relative(process.cwd(), from))
  if (shipped !== from && existsSync(shipped))
    return new UserError(`${expected}, found none`, `did you mean ${shown(shipped)}, which comes with ot-agent?`)
  const near = nearest(basename(from), codeIn(dirname(from), basename(from)))
  return new UserError(
    `${expected}, found none`,
    near === null
      ? `check the path, or create a starter file with ot-agent agents init NAME or ot-agent recipe init NAME`
      : `did you mean ${shown(join(dirname(from), near))}?`,
  )
}

/** Names in a directory that the user may have meant: folders and files with code. */
function codeIn(dir: string, missing: string): readonly string[] {
  try {
    return readdirSync(dir, { withFileTypes: true })
      .filter((entry) => entry.name !== missing && (entry.isDirectory() || /\.[cm]?[jt]sx?$/.test(entry.name)))
      .map(({ name }) => name)
  } catch {
    return []
  }
}

/** A path relative to the working directory if the file is below it, else the whole path. */
function shown(file: string): string {
  const near = relative(process.cwd(), file)
  return near.startsWith('..') ? file : near
}
