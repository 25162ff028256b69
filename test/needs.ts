import { existsSync } from 'node:fs'
import { messageOf } from '../src/core/errors.ts'
import { findProgram } from '../src/lib/programs.ts'
import { requireUplink } from '../src/sandboxes/local/uplink.ts'

declare module 'vitest' {
  interface TaskMeta {
    /** Why a test does not run on this machine; scripts/test.mjs prints it. */
    skipReason?: string
  }
}

/**
 * Options for a `describe` or `test` that needs programs, files (by full path) or `root`, for example `describe('local
 * sandbox', needs('bwrap'), () => ...)`: if one is missing, the test is skipped by name with the reason.
 */
export function needs(...names: string[]): { skip: boolean; meta: { skipReason?: string } } {
  if (names.includes('root') && process.geteuid?.() !== 0)
    return { skip: true, meta: { skipReason: 'needs root, and this is an ordinary user' } }
  const missing = names.filter((name) => name !== 'root' && !isThere(name))
  if (missing.length === 0) return { skip: false, meta: {} }
  return { skip: true, meta: { skipReason: `needs ${missing.join(', ')}, not found on this machine` } }
}

function isThere(name: string): boolean {
  return name.startsWith('/') ? existsSync(name) : findProgram(name) !== null
}

/** Why sandboxes on this machine cannot have a network, or null. */
export function whyNoUplink(): string | null {
  try {
    requireUplink()
    return null
  } catch (error) {
    return messageOf(error)
  }
}
