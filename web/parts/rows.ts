import type { Key } from '../page.ts'

/** Lets j and k move a mark over the rows of a table and Enter open the marked row. The mark survives a redraw. */
export function rowKeys(body: HTMLElement, open: (row: HTMLElement) => void): Key[] {
  let marked: HTMLElement | undefined
  const rows = () => [...body.querySelectorAll<HTMLElement>('[data-row]')]
  const mark = (row: HTMLElement | undefined) => {
    marked?.classList.remove('marked')
    marked = row
    row?.classList.add('marked')
  }
  const move = (by: number) => {
    const all = rows()
    const at = marked ? all.indexOf(marked) : -1
    const next = all[Math.min(all.length - 1, Math.max(0, at + by))]
    mark(next)
    next?.scrollIntoView({ block: 'nearest' })
  }
  const keep = () => {
    const lost = marked
    // A row that a search removed gets its mark back when it returns.
    if (lost && !body.contains(lost)) mark(rows().find(({ dataset }) => dataset.row === lost.dataset.row) ?? lost)
  }
  new MutationObserver(keep).observe(body, { childList: true, subtree: true })
  return [
    { key: 'j', does: 'next row', run: () => move(1) },
    { key: 'k', does: 'previous row', run: () => move(-1) },
    {
      key: 'Enter',
      does: 'open the row',
      run: () => {
        if (marked && body.contains(marked)) open(marked)
      },
    },
  ]
}
