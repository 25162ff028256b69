export interface Table {
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

interface Format {
  readonly ending: string
  /** The format's name for readers. */
  readonly words: string
  render(table: Table): string
}

export const formatNames = [
  'csv',
  'tsv',
  'json-records',
  'json-lines',
  'json-columns',
  'json-table',
  'markdown',
  'html',
] as const
export type FormatName = (typeof formatNames)[number]

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`
const keyed = (values: readonly unknown[]) => Object.fromEntries(values.map((value, i) => [`k${i}`, value]))
const record = ({ header }: Table, row: readonly string[]) => keyed(header.map((_, i) => row[i] ?? ''))
/**
 * JSON with the column names as keys. They are inserted at the end, because objects move numeric names, such as years,
 * to the front.
 */
const named = (value: unknown, { header }: Table, indent?: number) =>
  `${JSON.stringify(value, null, indent).replace(/"k(\d+)":/g, (_, i: string) => `${JSON.stringify(header[Number(i)])}:`)}\n`
const lines = ({ header, rows }: Table, line: (cells: readonly string[]) => string) =>
  `${[header, ...rows].map(line).join('\n')}\n`

/** Ways to write a table as text. */
export const formats: Readonly<Record<FormatName, Format>> = {
  csv: {
    ending: 'csv',
    words: 'comma-separated values with a head line',
    render: (table) =>
      lines(table, (cells) =>
        cells.map((cell) => (/[",]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(','),
      ),
  },
  tsv: {
    ending: 'tsv',
    words: 'tab-separated values with a head line',
    render: (table) =>
      lines(table, (cells) =>
        cells.map((cell) => (/["\t]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join('\t'),
      ),
  },
  'json-records': {
    ending: 'json',
    words: 'a JSON list of objects, one for each row, with the column names as keys',
    render: (table) =>
      named(
        table.rows.map((row) => record(table, row)),
        table,
        2,
      ),
  },
  'json-lines': {
    ending: 'jsonl',
    words: 'JSON lines: one object a line, with the column names as keys',
    render: (table) => table.rows.map((row) => named(record(table, row), table)).join(''),
  },
  'json-columns': {
    ending: 'json',
    words: 'a JSON object with one list of cells for each column name',
    render: (table) => named(keyed(table.header.map((_, i) => table.rows.map((row) => row[i] ?? ''))), table, 2),
  },
  'json-table': {
    ending: 'json',
    words: 'a JSON object with "header", a list of column names, and "rows", a list of lists of cells',
    render: ({ header, rows }) => json({ header, rows }),
  },
  markdown: {
    ending: 'md',
    words: 'a Markdown table with pipes (a pipe inside a cell is written \\|)',
    render: (table) => {
      const [head = '', ...rest] = lines(
        table,
        (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`,
      ).split('\n')
      return [head, `|${' --- |'.repeat(table.header.length)}`, ...rest].join('\n')
    },
  },
  html: {
    ending: 'html',
    words: 'an HTML table with a head row of th and rows of td',
    render: ({ header, rows }) => {
      const cells = (tag: string, row: readonly string[]) =>
        `<tr>${row.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join('')}</tr>`
      return `<table>\n${[cells('th', header), ...rows.map((row) => cells('td', row))].join('\n')}\n</table>\n`
    },
  },
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
