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
  /** More ways to say the same. */
  describeElse(columns: readonly Column[]): readonly string[]
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
    describeElse: (columns) => [
      `plain text with ${word} between the fields of a line; line 1 is a header with the column names ${listed(columns)}, in that order, and every further line is one record`,
      `one record per line under a header line that names ${listed(columns)} in this order, ${word} being the field separators`,
      `${word} as field separators; a header line first, which names the columns ${listed(columns)} from left to right; below it, one line per record`,
      `a table in text form, each record on a line of its own and the column names (${listed(columns)}, in this order) on the line above them all; ${word} separate the fields of every line`,
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
  describeElse: (columns) => [
    `CSV whose first line is the header \`${columns.map(({ name }) => name).join(',')}\` and whose further lines are one record each; a field stands in double quotes if a space or a comma occurs in it, and without quotes otherwise`,
    `comma-separated values, header line included, with the columns ${listed(columns)} in this order; double quotes around every field with a space or comma in it, and around no other`,
    `one line per record with commas between the fields, below a header line that reads \`${columns.map(({ name }) => name).join(',')}\`; those fields that contain a comma or a space, and only those, are double-quoted`,
    `a CSV file whose first line names the columns ${listed(columns)}, in this order; double quotes enclose a field that has a space or a comma in it, and a field with neither has no quotes`,
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
  describeElse: (columns) => {
    const [first, second, third, fourth] = numbersElse(columns)
    return [
      `each line is a JSON object for one record; its keys are, in order, ${listed(columns)}; no spaces except inside strings; ${first}`,
      `one object per record and line, as compact JSON (spaces occur only within strings) with the keys ${listed(columns)} in exactly this order; ${second}`,
      `JSONL, a record being a line with one object; ${third}; the keys are ${listed(columns)}, always in this order, and outside of strings there is no space at all`,
      `newline-delimited JSON, one record per line, without any space outside of the strings; every object has the keys ${listed(columns)}, in that order; ${fourth}`,
    ]
  },
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

function numbersElse(columns: readonly Column[]): readonly [string, string, string, string] {
  const numbers = columns.filter(isNumber)
  if (numbers.length === 0)
    return [
      'every value is a string',
      'the values are strings throughout',
      'strings are the only kind of value',
      'any value is written as a string',
    ]
  const kept = 'decimals as they are, `4.50` stays `4.50`'
  return [
    `of the values, only ${listed(numbers)} ${numbers.length === 1 ? 'is a JSON number' : 'are JSON numbers'} (${kept}), and all others are strings`,
    `${listed(numbers)} ${numbers.length === 1 ? 'is written as a number' : 'are written as numbers'} with unchanged decimals (\`4.50\` stays \`4.50\`), the rest as strings`,
    `values are strings except in ${listed(numbers)}, where they are numbers that keep their decimals (\`4.50\` stays \`4.50\`)`,
    `numbers, unquoted, in ${listed(numbers)} (${kept}), and strings in all other keys`,
  ]
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
  describeElse: (columns) => [
    `logfmt lines, one per record: \`key=value\` pairs for ${listed(columns)} in that order, a single space from one pair to the next, and double quotes around a value exactly when it contains a space`,
    `each line is one record: ${columns.map(({ name }) => `\`${name}=...\``).join(', ')}, in that order, with one space and nothing else between two of these; double quotes enclose a value with a space in it and no other value`,
    `one line per record, made of \`key=value\` fields separated by one space each; the keys are ${listed(columns)}, in this order; a value is in double quotes if there is a space in it, and bare otherwise`,
    `pairs of key and value (\`key=value\`), separated by single spaces, one record to a line; from left to right the keys are ${listed(columns)}; only values containing a space have double quotes around them, and those always do`,
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
  describeElse: (columns) => [
    `one block per record and in it one line per field, written \`name: value\`; the fields are ${listed(columns)}, in this order, and every block is followed by an empty line`,
    `records as blocks of \`name: value\` lines, the names being ${listed(columns)} in exactly this order; after every block comes one empty line`,
    `a paragraph for each record, with a line \`name: value\` for each of ${listed(columns)}, in this order, and then an empty line to close the paragraph`,
    `for each record the lines ${columns.map(({ name }) => `\`${name}: ...\``).join(', ')}, in this order and below each other, and after these an empty line`,
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
  describeElse: (columns) => {
    const head = `\`| ${columns.map(({ name }) => name).join(' | ')} |\``
    const rule = `\`|${columns.map(() => '---').join('|')}|\``
    return [
      `a table in Markdown whose first line is ${head} and whose second line is ${rule}; each record is a further line in the manner of the first, with exactly one space before and after every cell`,
      `a Markdown table with the columns ${listed(columns)} in this order: the header, then the line ${rule}, then a line per record; in the header and the records every cell has a single space on each side and no further padding, and lines begin and end with \`|\``,
      `rows of a Markdown pipe table that are not aligned: the first row is ${head}, the second ${rule}, and then every record has a row like the first, each cell with one space to its left and one to its right`,
      `the header ${head}, below it the line ${rule}, and below that one line per record, as a Markdown table with vertical bars at both ends of a line too and single spaces, no more, around each cell`,
    ]
  },
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
