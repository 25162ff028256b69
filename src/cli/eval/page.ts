import { escapeMarkup } from '../../lib/plot.ts'
import { oneLine } from '../../lib/visible.ts'
import { printTable } from '../output.ts'

/** A result before it is rendered as a table, Markdown or HTML. All text in it may be hostile. */
export interface Page {
  readonly title: string
  readonly paragraphs: readonly string[]
  readonly tables: readonly PageTable[]
  /** SVG documents, shown in HTML only. */
  readonly plots: readonly string[]
}

export interface PageTable {
  readonly title: string
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** True for what is too long for a terminal. */
  readonly onlyInFiles?: boolean
}

/** Prints a page to the terminal. */
export function printPage({ paragraphs, tables }: Page): void {
  for (const text of paragraphs) process.stdout.write(`${oneLine(text)}\n`)
  for (const { title, header, rows, onlyInFiles } of tables) {
    if (rows.length === 0 || onlyInFiles) continue
    process.stdout.write(`\n${oneLine(title)}\n`)
    printTable(header, rows)
  }
}

export function renderMarkdown({ title, paragraphs, tables }: Page): string {
  const row = (cells: readonly string[]) => `| ${cells.map(markdownText).join(' | ')} |`
  const blocks = tables
    .filter(({ rows }) => rows.length > 0)
    .map(({ title: name, header, rows }) =>
      [`## ${markdownText(name)}`, '', row(header), `|${'---|'.repeat(header.length)}`, ...rows.map(row)].join('\n'),
    )
  return `${[`# ${markdownText(title)}`, ...paragraphs.map(markdownText), ...blocks].join('\n\n')}\n`
}

/** Escapes text so that neither Markdown nor the HTML inside it treats it as markup. */
function markdownText(text: string): string {
  return oneLine(text).replace(/[\\`*_{}[\]<>#|!~&]/g, (sign) => `\\${sign}`)
}

/** Renders a single self-contained file without scripts. */
export function renderHtml({ title, paragraphs, tables, plots }: Page): string {
  const row = (cells: readonly string[], tag: 'th' | 'td') =>
    `<tr>${cells.map((cell) => `<${tag}>${escapeMarkup(oneLine(cell))}</${tag}>`).join('')}</tr>`
  const blocks = tables
    .filter(({ rows }) => rows.length > 0)
    .map(
      ({ title: name, header, rows }) =>
        `<h2>${escapeMarkup(oneLine(name))}</h2>\n<table>${[row(header, 'th'), ...rows.map((cells) => row(cells, 'td'))].join('\n')}</table>`,
    )
  const name = escapeMarkup(oneLine(title))
  return [
    head(name),
    `<h1>${name}</h1>`,
    ...paragraphs.map((text) => `<p>${escapeMarkup(oneLine(text))}</p>`),
    ...plots.map((svg) => `<figure>${svg}</figure>`),
    ...blocks,
    '</body></html>\n',
  ].join('\n')
}

const head = (title: string) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width"><title>${title}</title>
<style>body{font-family:sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}figure{margin:1rem 0}svg{max-width:100%;height:auto}table{border-collapse:collapse}td,th{border-bottom:1px solid #ddd;padding:.2rem .8rem;text-align:left}</style>
</head><body>`
