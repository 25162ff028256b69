/**
 * What a question leaves open and the reference decides: which columns to return, and whether records without a match
 * are included. Empty if nothing is open.
 */
export function tellResult(query: string): string {
  const columns = columnsOf(query)
  const open = columns.length < 2 ? '' : ` The result has ${listed(columns)}, in any order.`
  return countsMatches(query) ? `${open} What has no match in the other table is left out.` : open
}

/** The columns of the outermost SELECT in words; empty if it is not a plain list. */
function columnsOf(query: string): string[] {
  const list = /^\s*select\s+(?:distinct\s+)?([^()]*?(?:\([^()]*\)[^()]*?)*)\s+from\b/i.exec(
    query.replace(/\s+/g, ' '),
  )?.[1]
  const items = list?.split(/,(?![^(]*\))/) ?? []
  return items.some((item) => /(?:^|\.)\s*\*\s*$/.test(item)) ? [] : items.map(inWords)
}

const calls: Readonly<Record<string, string>> = { sum: 'sum', avg: 'average', max: 'largest', min: 'smallest' }

function inWords(item: string): string {
  const plain = item.trim().replace(/\s+as\s+\w+$/i, '')
  const name = /^(?:\w+\s*\.\s*)?(\w+)$/.exec(plain)?.[1]
  if (name !== undefined) return `\`${name.toLowerCase()}\``
  const [, call = '', of = ''] = /^(\w+)\s*\(\s*(?:distinct\s+)?(?:\w+\s*\.\s*)?(\w+|\*)\s*\)$/i.exec(plain) ?? []
  const word = calls[call.toLowerCase()]
  if (call.toLowerCase() === 'count') return 'a count'
  return word === undefined ? 'a computed value' : `the ${word} of \`${of.toLowerCase()}\``.replace('est of', 'est')
}

function listed(columns: readonly string[]): string {
  return `${columns.slice(0, -1).join(', ')} and ${columns.at(-1)}`
}

/**
 * Whether records without a match in the other table are in question: a join drops them, while "for each" and "the
 * fewest" leave that open. Asking for more than a number, or for the most, never includes them.
 */
function countsMatches(query: string): boolean {
  return (
    /\bjoin\b/i.test(query) &&
    !/\b(?:left|right|full|outer)\b|\bhaving\b/i.test(query) &&
    /\bgroup\s+by\b/i.test(query) &&
    /\bcount\s*\(/i.test(query) &&
    !/\border\s+by\s+count\s*\([^)]*\)\s+desc\s+limit\b/i.test(query)
  )
}
