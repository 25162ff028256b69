import { awk } from './step.ts'
import type { Column, Table } from './table.ts'

/** How a file stores records. Every shape can be written and read, in TypeScript and in the shell. */
export interface Shape {
  readonly name: string
  readonly ending: string
  /** The number of header lines that are not records; the first one names the columns. */
  readonly headLines: number
  /** Whether a record is exactly one line. */
  readonly linewise: boolean
  /** Set if a proper line's number of fields is obvious: then the separator cannot occur in a field. */
  readonly separator?: string
  describe(columns: readonly Column[]): readonly string[]
  render(table: Table): string
  /** Shell filter from lines without the header to tab-separated records. */
  read(columns: readonly Column[]): string
  /** Shell filter from tab-separated records to a whole file with its header. */
  write(columns: readonly Column[]): string
}

const isNumber = ({ kind }: Column) => kind === 'int' || kind === 'money'
const listed = (columns: readonly Column[]) => columns.map(({ name }) => `\`${name}\``).join(', ')
const lines = (items: readonly string[]) => items.map((item) => `${item}\n`).join('')

function separated(name: string, ending: string, separator: string, word: string): Shape {
  return {
    name,
    ending,
    headLines: 1,
    linewise: true,
    separator,
    describe: (columns) => [
      `fields are separated by ${word}, and the first line names the columns (${listed(columns)})`,
      `a header line (${columns.map((column) => column.name).join(' / ')}), then one record per line, fields separated by ${word}`,
    ],
    render: ({ columns, rows }) =>
      lines([columns.map((column) => column.name), ...rows].map((row) => row.join(separator))),
    read: () => (separator === '\t' ? 'cat' : `tr '${separator}' '\\t'`),
    write: (columns) => {
      const head = columns.map((column) => column.name).join('\\t')
      return `{ printf '${head}\\n'; cat; }${separator === '\t' ? '' : ` | tr '\\t' '${separator}'`}`
    },
  }
}

const quote = (value: string) => (/[ ,"]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value)

const csv: Shape = {
  name: 'csv',
  ending: 'csv',
  headLines: 1,
  linewise: true,
  describe: (columns) => [
    `a CSV file with a header (${listed(columns)}); exactly the fields that contain a space or a comma are in double quotes`,
    `comma-separated with the header \`${columns.map(({ name }) => name).join(',')}\`, a field being in double quotes if and only if it has a space or a comma in it`,
  ],
  render: ({ columns, rows }) =>
    lines([columns.map(({ name }) => name), ...rows].map((row) => row.map(quote).join(','))),
  read: () =>
    `awk '{ out = ""; inside = 0; n = length($0); for (i = 1; i <= n; i++) { c = substr($0, i, 1); if (c == "\\"") inside = !inside; else if (c == "," && !inside) out = out "\\t"; else out = out c } print out }'`,
  write: (columns) =>
    `{ printf '${columns.map(({ name }) => name).join('\\t')}\\n'; cat; } | awk -F '\\t' '{ line = ""; for (i = 1; i <= NF; i++) line = line (i > 1 ? "," : "") ($i ~ /[ ,]/ ? "\\"" $i "\\"" : $i); print line }'`,
}

const jsonl: Shape = {
  name: 'jsonl',
  ending: 'jsonl',
  headLines: 0,
  linewise: true,
  describe: (columns) => [
    `JSON Lines, no space outside of strings, keys in this order: ${listed(columns)}; ${numbersSaid(columns)}`,
    `one JSON object per line with the keys ${listed(columns)} in that order and without spaces around \`:\` and \`,\`; ${numbersSaid(columns)}`,
  ],
  render: ({ columns, rows }) =>
    lines(
      rows.map(
        (row) =>
          `{${columns.map((column, at) => `"${column.name}":${isNumber(column) ? row[at] : `"${row[at]}"`}`).join(',')}}`,
      ),
    ),
  read: (
    columns,
  ) => `awk 'function get(key,    s, at) { at = index($0, "\\"" key "\\":"); s = substr($0, at + length(key) + 3); if (substr(s, 1, 1) == "\\"") { s = substr(s, 2); return substr(s, 1, index(s, "\\"") - 1) } match(s, /[,}]/); return substr(s, 1, RSTART - 1) }
{ print ${columns.map(({ name }) => `get("${name}")`).join(' "\\t" ')} }'`,
  write: (columns) =>
    awk(
      `{ print "{" ${columns.map((column, at) => `"\\"${column.name}\\":" ${isNumber(column) ? `$${at + 1}` : `"\\"" $${at + 1} "\\""`}`).join(' "," ')} "}" }`,
    ),
}

function numbersSaid(columns: readonly Column[]): string {
  const numbers = columns.filter(isNumber)
  return numbers.length === 0
    ? 'all values are strings'
    : `${listed(numbers)} ${numbers.length === 1 ? 'is a number' : 'are numbers'} (decimals as they are, \`4.50\` stays \`4.50\`), everything else strings`
}

const logfmt: Shape = {
  name: 'logfmt',
  ending: 'log',
  headLines: 0,
  linewise: true,
  describe: (columns) => [
    `lines of \`key=value\` pairs with one space between them, keys in this order: ${listed(columns)}; a value with a space in it is in double quotes`,
    `one record per line as ${columns.map(({ name }) => `\`${name}=...\``).join(' ')}, separated by single spaces; only values that contain a space are in double quotes`,
  ],
  render: ({ columns, rows }) =>
    lines(
      rows.map((row) =>
        columns.map(({ name }, at) => `${name}=${row[at]?.includes(' ') ? `"${row[at]}"` : row[at]}`).join(' '),
      ),
    ),
  read: () =>
    `awk '{ out = ""; inside = 0; n = length($0); for (i = 1; i <= n; i++) { c = substr($0, i, 1); if (c == "\\"") inside = !inside; else if (c == " " && !inside) out = out "\\t"; else out = out c } print out }' | awk -F '\\t' '{ line = ""; for (i = 1; i <= NF; i++) line = line (i > 1 ? "\\t" : "") substr($i, index($i, "=") + 1); print line }'`,
  write: (columns) =>
    awk(
      `{ print ${columns.map(({ name }, at) => `"${name}=" ($${at + 1} ~ / / ? "\\"" $${at + 1} "\\"" : $${at + 1})`).join(' " " ')} }`,
    ),
}

const stanzas: Shape = {
  name: 'stanzas',
  ending: 'txt',
  headLines: 0,
  linewise: false,
  describe: (columns) => [
    `a block of lines \`Key: value\` for each record, with the keys ${listed(columns)} in that order, and an empty line after each block`,
    `blocks, each followed by an empty line: one line per field, \`name: value\`, in the order ${listed(columns)}`,
  ],
  render: ({ columns, rows }) =>
    rows.map((row) => `${lines(columns.map(({ name }, at) => `${name}: ${row[at]}`))}\n`).join(''),
  read: () =>
    `awk '$0 == "" { if (out != "") print substr(out, 2); out = ""; next } { out = out "\\t" substr($0, index($0, ": ") + 2) } END { if (out != "") print substr(out, 2) }'`,
  write: (columns) => awk(`{ ${columns.map(({ name }, at) => `print "${name}: " $${at + 1}`).join('; ')}; print "" }`),
}

const markdown: Shape = {
  name: 'markdown',
  ending: 'md',
  headLines: 2,
  linewise: true,
  describe: (columns) => [
    `a Markdown table: \`| ${columns.map(({ name }) => name).join(' | ')} |\`, then a line \`|${columns.map(() => '---').join('|')}|\`, then the records, each cell with one space on either side and no other padding`,
    `a pipe table in Markdown with the columns ${listed(columns)}: a header line, a line \`|${columns.map(() => '---').join('|')}|\`, one line per record; single spaces around every cell`,
  ],
  render: ({ columns, rows }) =>
    lines([
      `| ${columns.map(({ name }) => name).join(' | ')} |`,
      `|${columns.map(() => '---').join('|')}|`,
      ...rows.map((row) => `| ${row.join(' | ')} |`),
    ]),
  read: () => `sed -e 's/^| //' -e 's/ |$//' -e 's/ | /\\t/g'`,
  write: (columns) =>
    `{ printf '| ${columns.map(({ name }) => name).join(' | ')} |\\n|${columns.map(() => '---').join('|')}|\\n'; sed -e 's/\\t/ | /g' -e 's/^/| /' -e 's/$/ |/'; }`,
}

/** Every shape; the order does not matter. */
export const shapes: readonly Shape[] = [
  csv,
  separated('tsv', 'tsv', '\t', 'tabs'),
  separated('semicolons', 'csv', ';', 'semicolons'),
  separated('pipes', 'psv', '|', 'vertical bars (`|`)'),
  jsonl,
  logfmt,
  stanzas,
  markdown,
]
