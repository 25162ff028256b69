import type { ViewDataList } from '../../src/core/view-data.ts'
import { get } from '../api.ts'
import { fill, h } from '../dom.ts'
import { type Page, to } from '../page.ts'
import { line } from '../text.ts'

/** Every dataset and recipe run that can be shown. */
export async function datasetsPage(page: Page): Promise<void> {
  page.head([])
  const { datasets, recipes } = await get<ViewDataList>(['data'], {}, page.signal)
  const list = (title: string, rows: readonly (readonly [name: string, path: string, address: string])[]) =>
    rows.length > 0 && [
      h('h2', null, title),
      h(
        'ul',
        { class: 'plain' },
        ...rows.map(([name, path, address]) =>
          h(
            'li',
            null,
            h('a', { href: address }, h('bdi', null, line(name))),
            ' ',
            h('span', { class: 'dim' }, line(path)),
          ),
        ),
      ),
    ]
  fill(
    page.main,
    h('h1', null, 'Datasets and recipes'),
    list(
      'Recipe runs',
      recipes.map(({ id, name, dir }) => [id === name ? id : `${id} (${name})`, dir, to(['recipes', id])] as const),
    ),
    list(
      'Datasets',
      datasets.map(({ id, name, path }) => [name, path, to(['data', id])] as const),
    ),
    datasets.length + recipes.length === 0 &&
      h('p', { class: 'dim' }, 'None: pass a .parquet or .jsonl file, or the directory of a recipe run.'),
  )
}
