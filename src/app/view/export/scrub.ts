import { homedir, tmpdir } from 'node:os'
import { dirname } from 'node:path'
import { isSecretName } from '../../../core/redact.ts'
import { packageRoot } from '../../../lib/package-root.ts'
import { defaultStateDir } from '../../../lib/process-identity.ts'
import { findSecrets } from '../../../stages/shared/rollout-text/secret-shapes.ts'

/** Makes texts fit for publishing. */
export interface Scrub {
  /** Removes secrets and directories of this machine from a text. */
  text(text: string): string
  /** Reduces every absolute path in one of our records to its last segment. */
  paths(value: unknown): unknown
}

/** `jobDirs`: the directories of the exported jobs. */
export function makeScrub(jobDirs: readonly string[], env = process.env): Scrub {
  const own = [...jobDirs.map((dir) => dirname(dir)), process.cwd(), packageRoot, homedir(), defaultStateDir(env)]
  // A path as short as /root or /app may also be a directory inside a sandbox.
  const roots = [...new Set(own.map((root) => root.replace(/\/+$/, '')))]
    .filter((root) => root.split('/').length > 2)
    .sort((a, b) => b.length - a.length)
  const known = Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && value.length >= 8 && isSecretName(name) ? [value] : [],
  )
  const temporary = new RegExp(`${tmpdir().replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}/ot-agent[^\\s"']*`, 'g')
  const text = (given: string): string => {
    let clean = given
    for (const root of roots) {
      if (!clean.includes(root)) continue
      clean = clean.replaceAll(`${root}/`, '').replaceAll(root, '.')
    }
    clean = clean.replace(temporary, (path) => `…/${path.split('/').at(-1)}`)
    const secrets = findSecrets(clean, known)
    return secrets.reduceRight((left, { start, end }) => `${left.slice(0, start)}[secret]${left.slice(end)}`, clean)
  }
  const paths = (value: unknown): unknown => {
    if (typeof value === 'string') return /^\/[^/\n]+\/[^\n]*$/.test(value) ? `…/${value.split('/').at(-1)}` : value
    if (Array.isArray(value)) return value.map(paths)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, paths(each)]))
  }
  return { text, paths }
}
