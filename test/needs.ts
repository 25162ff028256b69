import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

declare module 'vitest' {
  interface TaskMeta {
    /** Why a test does not run on this machine; scripts/test.mjs prints it. */
    skipReason?: string
  }
}

/**
 * Options for a `describe` or `test` that needs programs of this machine, for example
 * `describe('local sandbox', needs('bwrap'), () => ...)`: skipped by name, with the reason, where one is missing.
 */
export function needs(...programs: string[]): { skip: boolean; meta: { skipReason?: string } } {
  const missing = programs.filter((program) => !onPath(program))
  if (missing.length === 0) return { skip: false, meta: {} }
  return { skip: true, meta: { skipReason: `needs ${missing.join(', ')}, not found on PATH` } }
}

function onPath(program: string): boolean {
  const dirs = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin']
  return dirs.some((dir) => dir !== '' && isExecutable(join(dir, program)))
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
