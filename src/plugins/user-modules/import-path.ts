import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { UserError } from '../../core/errors.ts'

/** Where a user plug-in is (a file, a directory or an installed package), and which export is meant, if given. */
export interface ImportPath {
  /** An absolute path, or the name of a package. */
  readonly from: string
  readonly isPackage: boolean
  readonly exportName: string | null
}

/** Whether a name means a user's module: a path that starts with a dot or a slash, or a package. */
export function isModulePath(name: string): boolean {
  return /^(\.{0,2}\/|npm:)/.test(name)
}

/** Reads `./my-agent.ts`, `./my-agent.ts:ClassName`, `./dir`, `npm:package` or `npm:package:export`. */
export function parseImportPath(text: string, cwd: string = process.cwd()): ImportPath {
  const [, place = '', exportName = null] = /^(.*?)(?::([A-Za-z_$][\w$]*))?$/s.exec(text) ?? []
  if (place.startsWith('npm:')) return { from: packageName(place.slice(4), text), isPackage: true, exportName }
  // `npm:package` itself looks like an export of a file called npm.
  if (place === 'npm' && exportName !== null) return { from: exportName, isPackage: true, exportName: null }
  if (place.trim() === '') throw notAPath(text)
  const from = resolve(cwd, place)
  if (/\.py$/i.test(place) || (looksLikePython(text) && !isThere(from))) throw pythonFile(text)
  return { from, isPackage: false, exportName }
}

/** The same import path, spelt so that it means the same from every directory. */
export function absoluteImportPath(text: string, cwd: string = process.cwd()): string {
  const { from, isPackage, exportName } = parseImportPath(text, cwd)
  return `${isPackage ? 'npm:' : ''}${from}${exportName === null ? '' : `:${exportName}`}`
}

/**
 * Whether it looks like a Python module in Harbor's spelling, `package.module:Class`; a file with this name may still
 * be meant.
 */
function looksLikePython(text: string): boolean {
  return /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$/.test(text)
}

function isThere(path: string): boolean {
  return ['', '.ts', '.mts', '.js', '.mjs', '.cjs'].some((ending) => existsSync(path + ending))
}

function pythonFile(text: string): UserError {
  return new UserError(
    `${text}: expected a TypeScript or JavaScript file, got a Python module, which ot-agent cannot load`,
    'port it: ot-agent agents init NAME writes the same loop in TypeScript, where run(instruction, environment) becomes solve(at)',
  )
}

function packageName(name: string, text: string): string {
  if (/^(?:@[\w.~-]+\/)?[\w.~-]+(?:\/[\w.~-]+)*$/.test(name) && !name.split('/').includes('..')) return name
  throw notAPath(text)
}

function notAPath(text: string): UserError {
  return new UserError(
    `expected an import path, got ${JSON.stringify(text)}`,
    'for example: ./my-agent.ts, ./my-agent.ts:ClassName, ./folder, npm:package or npm:package:export',
  )
}
