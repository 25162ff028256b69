import type { DraftFile } from '../../../core/row.ts'

/** Whether a file tests the code rather than being part of it. */
export function isTestFile(path: string): boolean {
  return (
    /(?:^|\/)(?:[Tt]ests?|__tests__|specs?)\//.test(path) ||
    /(?:[._-](?:test|spec)|(?:^|\/)tests?)\.[cm]?[jt]sx?$/.test(path) ||
    /(?:^|\/)(?:test_[^/]*|[^/]*_test|conftest|tests)\.py$/.test(path)
  )
}

const listName = "change[-_ ]?logs?|changes|history|news|release[-_ ]?notes?|what'?s[-_ ]?new"
const listFile = new RegExp(`^(?:${listName})(?![a-z])`, 'i')
/** A folder with one text per change or version; those of a version may have a subfolder. */
const listFolder = new RegExp(
  `(?:^|/)(?:${listName}|news[-_]?fragments)(?:\\.d)?/(?:(?:unreleased|next|v?\\d[\\w.-]*)/)?[^/]+$`,
  'i',
)
/** Extensions of code, data and images, which a text about changes does not have. */
const noText = new RegExp(
  `\\.(?:${[
    'py[ixd]?|ipynb|[cm]?[jt]sx?|vue|svelte|c|h|cc|cpp|cxx|hh|hpp|m|mm|cs|fs|vb|java|kts?|scala|groovy|gradle|clj[sc]?|go|rs|rb|php|p[lm]|t|lua|swift|dart|exs?',
    'erl|hrl|hs|mli?|r|jl|el|lisp|vim|d|s|v|nim|zig|sol|pas|ad[bs]|f90|sh|bash|zsh|fish|bat|ps1|awk|sql|proto|graphql|mk|cmake|erb|haml|slim|phtml|vm|j2|jinja2?',
    'mustache|hbs|ejs|tmpl|tpl|css|s[ac]ss|less|toml|lock|ini|cfg|conf|properties|csv|tsv|dat|db|sqlite3?|bin|pot?|png|jpe?g|gif|svg|ico|webp|jar|class|so|map|ui|xib|xaml|fxml|qml',
  ].join('|')})$`,
  'i',
)

/**
 * Whether a file lists changes and so may reveal what was wrong. Code does not qualify: `history.py` may be part of the
 * program.
 */
export function isChangeLog(path: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1)
  if (noText.test(name) || (/\.json$/i.test(name) && !/^change[-_ ]?log/i.test(name))) return false
  if (listFile.test(name)) return true
  // Such folders also contain a program's own pages, and files that build them.
  return (
    listFolder.test(path) &&
    !/\.html?$|(?:^|\/)(?:templates|(?:readme|licen[cs]e|makefile|dockerfile)\b|\.)/i.test(path)
  )
}

/** A file's text; null if it is not text. */
export function asText(data: DraftFile['data']): string | null {
  if (typeof data === 'string') return data
  const text = Buffer.from(data).toString('utf8')
  return Buffer.from(text).equals(data) ? text : null
}
