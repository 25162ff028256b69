import type { ViewText } from '../../src/core/view.ts'
import type { ViewDataMessage, ViewDataRowPage, ViewEvidence, ViewLineageStop } from '../../src/core/view-data.ts'
import { get } from '../api.ts'
import { type Child, fill, h } from '../dom.ts'
import { go, type Key, type Page, to } from '../page.ts'
import { markedText, wordsIn } from '../parts/marked-text.ts'
import { similarRows } from '../parts/similar-rows.ts'
import { makeTabs } from '../parts/toolbar.ts'
import { clean, count, line, plural, whole } from '../text.ts'
import { result, splitId } from './dataset.ts'

/** One row: where it came from, its conversation, its columns, and near-duplicates. */
export async function datasetRowPage(page: Page): Promise<void> {
  const { main, query, signal } = page
  const [id = '', key = ''] = page.names
  const place = ['data', id, 'rows', key]
  const found = await get<ViewDataRowPage>(place, {}, signal)
  const { row } = found
  const [run, step] = splitId(id)
  const q = query.get('q') ?? ''
  const other = (number: number) => to(['data', id, 'rows', String(number)], q === '' ? {} : { q })
  const around = (text: string, number: number | null) =>
    h(
      'button',
      { class: 'quiet', disabled: number === null, onclick: () => number !== null && go(other(number)) },
      text,
    )
  page.head(
    [
      ...(run === null ? [] : [{ text: run, to: to(['recipes', run]) }]),
      { text: step, to: to(['data', id], q === '' ? {} : { q }) },
      { text: `row ${row.number}` },
    ],
    h('span', { class: 'around' }, around('← Previous', found.previous), around('Next →', found.next)),
  )
  let own: readonly Key[] = []
  const always: readonly Key[] = [
    { key: 'ArrowLeft', does: 'previous row', run: () => found.previous !== null && go(other(found.previous)) },
    { key: 'ArrowRight', does: 'next row', run: () => found.next !== null && go(other(found.next)) },
    { key: 'Escape', does: 'the list', run: () => go(to(['data', id], q === '' ? {} : { q })) },
  ]
  const onKeys = (keys: readonly Key[]) => {
    own = keys
    page.keys([...own, ...always])
  }
  const showOther = (panel: HTMLElement, content: HTMLElement) => {
    onKeys([])
    fill(panel, content)
  }
  const tabs = makeTabs(page, [
    { id: 'conversation', title: 'Conversation', show: (panel) => onKeys(showConversation(page, place, found, panel)) },
    { id: 'columns', title: 'Columns', show: (panel) => showOther(panel, fieldsOf(found)) },
    { id: 'similar', title: 'Similar rows', show: (panel) => showOther(panel, similarRows(page, place, id)) },
  ])
  fill(
    main,
    h('h1', null, h('bdi', null, line(row.task ?? row.id ?? `Row ${row.number}`))),
    h('p', { class: 'lead' }, sentenceOf(found), ' ', row.result !== null && ['Result ', result(row.result), '.']),
    evidenceOf(found.evidence),
    lineageOf(found.lineage),
    tabs.bar,
    tabs.panel,
  )
  tabs.start()
}

function sentenceOf({ row, total }: ViewDataRowPage): string {
  const made = [row.agent, row.model].filter((name) => name !== null).map((name) => line(name ?? ''))
  return `${plural(row.turns, 'turn')} in ${plural(total, 'message')}, about ${count(row.tokens)} tokens${made.length > 0 ? `, by ${made.join(' with ')}` : ''}.`
}

function evidenceOf(evidence: readonly ViewEvidence[]): Child {
  if (evidence.length === 0) return null
  return h(
    'section',
    { class: 'tampered signs' },
    h('h2', null, `${plural(evidence.length, 'sign')} of reward hacking`),
    h(
      'ul',
      { class: 'plain' },
      ...evidence
        .slice(0, 20)
        .map(({ message, sign, quote }) =>
          h(
            'li',
            null,
            h('button', { class: 'quiet', onclick: () => jump(message) }, `#${message + 1}`),
            ` ${line(sign)} `,
            h('code', null, line(quote).slice(0, 160)),
          ),
        ),
    ),
  )
}

function jump(message: number): void {
  const card = document.getElementById(`message-${message + 1}`)
  ;(card?.querySelector('mark.evidence') ?? card)?.scrollIntoView({ block: 'center' })
}

function lineageOf(stops: readonly ViewLineageStop[]): Child {
  if (stops.length === 0) return null
  return h(
    'nav',
    { 'aria-label': 'Lineage', class: 'lineage' },
    h('h2', null, 'Where it came from'),
    h(
      'ol',
      { class: 'stops' },
      ...stops.map(({ kind, text, detail, dropped, here, link }) =>
        h(
          'li',
          { class: dropped ? 'stop dropped' : 'stop', 'aria-current': here ? 'location' : null },
          h('i', { class: 'dot' }),
          h('span', { class: 'kind' }, line(kind)),
          link === null ? h('bdi', null, line(text)) : h('a', { href: link }, h('bdi', null, line(text))),
          detail !== null && h('span', { class: 'dim' }, line(detail)),
        ),
      ),
    ),
  )
}

/** Messages as cards; a very long conversation loads more at its end. */
function showConversation(page: Page, place: readonly string[], found: ViewDataRowPage, panel: HTMLElement): Key[] {
  const words = wordsIn(page.query.get('q') ?? '')
  const section = h('section', { class: 'turns' })
  const foot = h('p', { class: 'foot' })
  const cards: HTMLElement[] = []
  let marked = -1
  const mark = (at: number) => {
    cards[marked]?.classList.remove('marked')
    marked = Math.min(cards.length - 1, Math.max(0, at))
    cards[marked]?.classList.add('marked')
    cards[marked]?.scrollIntoView({ block: 'start' })
  }
  const show = ({ messages, offset, total, leftOut = 0 }: ViewDataRowPage) => {
    for (const [i, message] of messages.entries()) {
      const number = offset + i
      const more = (part: string) => (from: number) =>
        get<ViewText>([...place, 'text'], { message: number, part, from }, page.signal)
      const evidence = found.evidence.filter((each) => each.message === number)
      const card = messageCard(message, number, { words, evidence, more })
      cards.push(card)
      section.append(card)
    }
    const next = offset + messages.length
    const load = async () => show(await get<ViewDataRowPage>(place, { offset: next }, page.signal))
    fill(
      foot,
      next < total && [
        `${whole(next)} of ${whole(total)} messages`,
        h('button', { onclick: () => void load() }, 'Show more'),
      ],
      next >= total && leftOut > 0 && `${plural(leftOut, 'more message')}: not part of this export.`,
    )
  }
  show(found)
  fill(
    panel,
    found.total === 0 && h('p', { class: 'dim' }, 'This row has no messages; the tab Columns shows it.'),
    section,
    foot,
  )
  let sign = -1
  const nextSign = () => {
    const all = [...panel.querySelectorAll('mark')]
    sign = all.length === 0 ? -1 : (sign + 1) % all.length
    all[sign]?.scrollIntoView({ block: 'center' })
  }
  return [
    { key: 'j', does: 'next message', run: () => mark(marked + 1) },
    { key: 'k', does: 'previous message', run: () => mark(marked - 1) },
    { key: 'n', does: 'next marked passage', run: nextSign },
  ]
}

interface CardSettings {
  readonly words: readonly string[]
  readonly evidence: readonly ViewEvidence[]
  readonly more: (part: string) => (from: number) => Promise<ViewText>
}

const kinds: Readonly<Record<string, string>> = {
  assistant: 'agent',
  user: 'user',
  tool: 'tool-result',
  system: 'system',
}

function messageCard(message: ViewDataMessage, number: number, { words, evidence, more }: CardSettings): HTMLElement {
  const { role, content, reasoning, calls } = message
  const lines = role === 'assistant' ? 40 : role === 'system' ? 6 : 18
  const text = markedText(content, { words, evidence, lines, more: more('content') })
  return h(
    'article',
    {
      class: `turn ${kinds[role] ?? 'user'}`,
      id: `message-${number + 1}`,
      'aria-label': `Message ${number + 1}, ${line(role)}`,
    },
    h('header', null, h('span', { class: 'number' }, `#${number + 1}`), h('strong', null, line(role))),
    reasoning &&
      h(
        'details',
        { class: 'reasoning' },
        h('summary', null, 'Reasoning'),
        markedText(reasoning, { words, evidence: [], lines: 200, more: more('reasoning') }),
      ),
    content.text.trim() !== '' && (role === 'tool' ? h('div', { class: 'observation' }, text) : text),
    ...calls.map(({ name, text: args }, i) =>
      h(
        'div',
        { class: 'call' },
        h('span', { class: 'tool' }, line(name)),
        markedText(args, { words, evidence: [], lines: 20, more: more(String(i)) }),
      ),
    ),
  )
}

function fieldsOf({ fields }: ViewDataRowPage): HTMLElement {
  return h(
    'table',
    { class: 'list fields' },
    h('caption', { class: 'hidden' }, 'Columns'),
    h('thead', null, h('tr', null, h('th', { scope: 'col' }, 'Column'), h('th', { scope: 'col' }, 'Value'))),
    h(
      'tbody',
      null,
      ...fields.map(({ name, text }) =>
        h(
          'tr',
          null,
          h('th', { scope: 'row' }, line(name)),
          h(
            'td',
            null,
            h('code', null, clean(text.text)),
            text.chars !== undefined && h('span', { class: 'dim' }, ` … ${whole(text.chars)} characters`),
          ),
        ),
      ),
    ),
  )
}
