import { homedir, tmpdir } from 'node:os'
import { dirname } from 'node:path'
import { isSecretName } from '../../../core/redact.ts'
import { packageRoot } from '../../../lib/package-root.ts'
import { defaultStateDir } from '../../../lib/process-identity.ts'
import { findSecrets } from '../../../stages/shared/rollout-text/secret-shapes.ts'

/** Makes texts fit to be published. */
export interface Scrub {
  /** A text without secrets and without the directories of this machine. */
  text(text: string): string
  /** A value of our own records, in which every absolute path is reduced to its last part. */
  paths(value: unknown): unknown
}

/** `jobDirs`: the directories of the jobs that are exported. */
export function makeScrub(jobDirs: readonly string[], env = process.env): Scrub {
  const own = [...jobDirs.map((dir) => dirname(dir)), process.cwd(), packageRoot, homedir(), defaultStateDir(env)]
  // What is as short as /root or /app may as well be a directory inside a sandbox.
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
