import type { Key } from '../page.ts'

/** Moves a mark over the rows of a table with j and k; Enter opens the marked row. */
export function rowKeys(body: HTMLElement, open: (row: HTMLElement) => void): Key[] {
  const rows = () => [...body.querySelectorAll<HTMLElement>('[data-row]')]
  const marked = () => body.querySelector<HTMLElement>('[data-row].marked')
  const move = (by: number) => {
    const all = rows()
    const now = marked()
    const at = now ? all.indexOf(now) : -1
    const next = all[Math.min(all.length - 1, Math.max(0, at + by))]
    now?.classList.remove('marked')
    next?.classList.add('marked')
    next?.scrollIntoView({ block: 'nearest' })
  }
  return [
    { key: 'j', does: 'next row', run: () => move(1) },
    { key: 'k', does: 'previous row', run: () => move(-1) },
    {
      key: 'Enter',
      does: 'open the row',
      run: () => {
        const row = marked()
        if (row) open(row)
      },
    },
  ]
}
