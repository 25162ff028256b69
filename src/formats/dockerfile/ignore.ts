import { posix } from 'node:path'
import { type Glob, GlobError, matchesGlob, parsePathGlob } from './glob.ts'

/** Says which paths of a build context a `.dockerignore` leaves out. */
export interface Ignore {
  /** `path` is relative to the context, with slashes. A path below one that is left out is left out too. */
  leavesOut(path: string): boolean
  /** Whether something below a directory that is left out may come back by a `!` line. */
  readonly hasExceptions: boolean
}

interface Rule {
  readonly glob: Glob
  readonly comesBack: boolean
}

/** Reads the text of a `.dockerignore`; the last rule that matches a path, or a directory above it, decides. */
export function parseIgnore(text: string): Ignore {
  const rules = text
    .replace(/^\uFEFF/, '')
    .split('\n')
    .flatMap(parseRule)
  return {
    hasExceptions: rules.some((rule) => rule.comesBack),
    leavesOut(path) {
      const above = path.split('/').map((_, index, parts) => parts.slice(0, index + 1).join('/'))
      let out = false
      for (const rule of rules) {
        if (rule.comesBack === out && above.some((prefix) => matchesGlob(rule.glob, prefix))) out = !rule.comesBack
      }
      return out
    },
  }
}

function parseRule(line: string): Rule[] {
  if (line.startsWith('#')) return []
  const trimmed = line.trim()
  const comesBack = trimmed.startsWith('!')
  const pattern = (comesBack ? trimmed.slice(1) : trimmed).trim()
  if (pattern === '') {
    if (comesBack) throw new GlobError('a line that is only "!"')
    return []
  }
  const cleaned = posix.normalize(pattern).replace(/\/$/, '').replace(/^\//, '')
  if (cleaned === '' || cleaned === '.') return []
  return [{ glob: parsePathGlob(cleaned, { deep: true }), comesBack }]
}
