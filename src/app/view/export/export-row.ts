import type { ViewDataMessage, ViewDataRowPage, ViewEvidence } from '../../../core/view-data.ts'
import { type RowAsk, viewDataRow } from '../dataset-row.ts'
import type { OpenDataset } from '../dataset-shelf.ts'
import type { Writer } from './export-job.ts'
import type { Scrub } from './scrub.ts'

/** At most this many characters of one row's texts are exported. */
const mostChars = 2_000_000

/** Writes a row with its messages, in files the size of the server's answers. Returns the row as written. */
export async function exportRow(
  opened: OpenDataset,
  number: number,
  ask: Omit<RowAsk, 'offset'>,
  { json, scrub }: Writer,
): Promise<ViewDataRowPage> {
  const place = ['data', opened.dataset.id, 'rows', String(number)]
  const pages: ViewDataRowPage[] = []
  let left = mostChars
  let offset = 0
  for (;;) {
    const page = await viewDataRow(opened, number, { ...ask, offset })
    const messages = page.messages.filter((message) => {
      left -= charsOf(message)
      return left >= 0
    })
    pages.push({ ...page, messages })
    offset += messages.length
    if (left < 0 || messages.length === 0 || offset >= page.total) break
  }
  const [first] = pages
  if (!first) throw new Error('a row has at least one page')
  const similar = opened.index.similar(opened.index.placeOf(number), 0.5, 20)
  await json([...place, 'similar'], { rows: similar, complete: true })
  for (const page of pages) {
    const dataset = { ...page.dataset, path: '' }
    const fields = page.fields.map(({ name, text }) => ({ name, text: scrub.paths(text) }))
    const evidence = page === first ? page.evidence.map((each) => placed(each, page.messages[each.message], scrub)) : []
    const kept = { ...page, dataset, fields, evidence, total: offset, leftOut: page.total - offset }
    await json(page === first ? place : [...place, 'from', String(page.offset)], kept)
  }
  return first
}

function charsOf({ content, reasoning, calls }: ViewDataMessage): number {
  return [content, reasoning, ...calls.map(({ text }) => text)].reduce((sum, part) => sum + (part?.text.length ?? 0), 0)
}

/** The new position of a passage after secrets and directories before it were removed. */
function placed(evidence: ViewEvidence, message: ViewDataMessage | undefined, scrub: Scrub): ViewEvidence {
  const text = message?.content.text ?? ''
  if (scrub.text(text) === text) return evidence
  const start = scrub.text(text.slice(0, evidence.start)).length
  return { ...evidence, start, end: start + scrub.text(text.slice(evidence.start, evidence.end)).length }
}
