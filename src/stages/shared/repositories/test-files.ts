import type { DraftFile } from '../../../core/row.ts'

/** Whether a file decides about the code or is part of it. */
export function isTestFile(path: string): boolean {
  return (
    /(?:^|\/)(?:[Tt]ests?|__tests__|specs?)\//.test(path) ||
    /(?:[._-](?:test|spec)|(?:^|\/)tests?)\.[cm]?[jt]sx?$/.test(path) ||
    /(?:^|\/)(?:test_[^/]*|[^/]*_test|conftest|tests)\.py$/.test(path)
  )
}

/** A file's text; null where it is none. */
export function asText(data: DraftFile['data']): string | null {
  if (typeof data === 'string') return data
  const text = Buffer.from(data).toString('utf8')
  return Buffer.from(text).equals(data) ? text : null
}
