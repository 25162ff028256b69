import type { DraftFile } from '../../../core/row.ts'

/** Whether a file decides about the code or is part of it. */
export function isTestFile(path: string): boolean {
  return (
    /(?:^|\/)(?:[Tt]ests?|__tests__|specs?)\//.test(path) ||
    /(?:[._-](?:test|spec)|(?:^|\/)tests?)\.[cm]?[jt]sx?$/.test(path) ||
    /(?:^|\/)(?:test_[^/]*|[^/]*_test|conftest|tests)\.py$/.test(path)
  )
}

/** Whether a file lists what changed, and so may tell what was wrong. Code is none: `history.py` may be a part of the program. */
export function isChangeLog(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (!/^(?:change(?:s|log)|history|news|release[-_ ]?notes|what'?s[-_ ]?new)/i.test(name)) return false
  return !/\.\D[^.]*$/.test(name) || /\.(?:md|markdown|rst|txt|adoc|html?|org|xml|in)$/i.test(name)
}

/** A file's text; null where it is none. */
export function asText(data: DraftFile['data']): string | null {
  if (typeof data === 'string') return data
  const text = Buffer.from(data).toString('utf8')
  return Buffer.from(text).equals(data) ? text : null
}
