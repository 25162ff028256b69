/** The records of comma- or tab-separated text whose first line names the fields; quotes as spreadsheets write them. */
export function* parseCsv(text: string, separator: ',' | '\t'): Generator<Record<string, string>, void, void> {
  let header: readonly string[] | null = null
  for (const cells of parseCells(text.replace(/^\uFEFF/, ''), separator)) {
    if (header === null) header = cells
    else if (cells.length > 1 || cells[0] !== '')
      yield Object.fromEntries(header.map((name, index) => [name, cells[index] ?? '']))
  }
}

function* parseCells(text: string, separator: string): Generator<string[], void, void> {
  let row: string[] = []
  let at = 0
  while (at < text.length) {
    const { cell, next } = text[at] === '"' ? quoted(text, at, separator) : plain(text, at, separator)
    row.push(cell)
    if (text[next] === separator) {
      at = next + 1
      if (at < text.length) continue
      row.push('')
    }
    yield row
    row = []
    at = text[next] === '\r' && text[next + 1] === '\n' ? next + 2 : next + 1
  }
}

interface Cell {
  readonly cell: string
  /** Where what ends the cell stands. */
  readonly next: number
}

function plain(text: string, from: number, separator: string): Cell {
  let next = from
  while (next < text.length && text[next] !== separator && text[next] !== '\n' && text[next] !== '\r') next++
  return { cell: text.slice(from, next), next }
}

function quoted(text: string, from: number, separator: string): Cell {
  let cell = ''
  let at = from + 1
  for (;;) {
    const quote = text.indexOf('"', at)
    if (quote < 0) return { cell: cell + text.slice(at), next: text.length }
    cell += text.slice(at, quote)
    at = quote + 1
    if (text[at] !== '"') break
    cell += '"'
    at++
  }
  const rest = plain(text, at, separator)
  return { cell: cell + rest.cell, next: rest.next }
}
