import { basename } from 'node:path'
import { UserError } from '../../../core/errors.ts'
import type { Need } from '../../../core/stage.ts'
import { type InputKind, inputFiles, standsForFiles } from '../../../formats/input-files.ts'
import { isGlob } from '../../../lib/path-glob.ts'

/** What a source of files requires: the file, or, for a folder or a pattern, at least one matching file. */
export async function needsOfFiles(path: string, kind: InputKind, what: string): Promise<readonly Need[]> {
  const provide = 'put the file there, or choose another path'
  if (!(await standsForFiles(path))) return [{ kind: 'file', path, what, provide }]
  try {
    await inputFiles(path, kind)
    return []
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return [{ kind: 'missing', what: `${what}: ${error.message}`, provide: error.hint }]
  }
}

/** The name of a source: its file or folder. For `rows/*.csv`, the folder's name says more than the pattern. */
export function nameOfInput(path: string): string {
  const named = path.split('/').filter((part) => part !== '' && !isGlob(part))
  return basename(named.at(-1) ?? 'rows').replace(/\..*$/, '') || 'rows'
}
