import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UserError } from '../../core/errors.ts'

/** The location of a dataset: a Hub repository, or a folder laid out like one. */
export type HubTarget =
  | { readonly kind: 'hub'; readonly repo: string }
  | { readonly kind: 'folder'; readonly path: string }

/** Parses `org/name` or `file:PATH`; `what` names the option it came from. */
export function parseTarget(text: string, what: string): HubTarget {
  if (text.startsWith('file:')) return { kind: 'folder', path: folderOf(text, what) }
  const repo = text.replace(/^datasets\//, '')
  if (isRepoId(repo)) return { kind: 'hub', repo }
  throw new UserError(
    `${what}: expected a dataset as org/name or file:PATH, got ${JSON.stringify(text.slice(0, 200))}`,
    'for example my-org/my-tasks, or file:/data/my-tasks',
  )
}

function folderOf(text: string, what: string): string {
  if (text.startsWith('file:///')) return fileURLToPath(text)
  const path = text.slice('file:'.length)
  if (path === '') throw new UserError(`${what}: expected a path after file:, got none`, 'for example file:/data/set')
  return resolve(path)
}

/**
 * The Hub's own rule: letters, digits, dots, dashes and underscores, none of the last three at either end or twice in a
 * row.
 */
function isRepoId(repo: string): boolean {
  const parts = repo.split('/')
  return (
    parts.length === 2 &&
    parts.every((part) => /^\w[\w.-]{0,95}$/.test(part) && /[A-Za-z0-9_]$/.test(part) && !/--|\.\./.test(part)) &&
    !repo.endsWith('.git')
  )
}
