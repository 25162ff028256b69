import type { ViewStep, ViewText } from '../../src/core/view.ts'
import { isExport } from '../api.ts'
import { type Child, fill, h } from '../dom.ts'
import { clean, count, duration, line, whole } from '../text.ts'
import { saveLink } from './files.ts'

/** Actions of a turn's buttons. */
export interface CardActions {
  readonly exchange: () => void
  readonly play: (() => void) | null
  readonly link: () => void
  readonly subagent: (name: string) => HTMLElement
  readonly raw: string | null
}

/** One turn: what was said, what was typed, and the response. */
export function turnCard(step: ViewStep, firstAt: number | null, actions: CardActions): HTMLElement {
  const since = step.timestamp !== null && firstAt !== null ? (Date.parse(step.timestamp) - firstAt) / 1000 : null
  const facts = [
    since === null ? null : `+${duration(since)}`,
    step.model === null ? null : line(step.model),
    step.outputTokens === null ? null : `${count(step.inputTokens)} in, ${count(step.outputTokens)} out`,
    step.copied ? 'copied context' : null,
  ].filter((fact) => fact !== null)
  const isAgent = step.source === 'agent'
  return h(
    'article',
    {
      class: `turn ${step.source}${step.copied ? ' copied' : ''}`,
      'aria-label': `Turn ${step.number}, ${step.source}`,
      id: `turn-${step.number}`,
    },
    h(
      'header',
      null,
      h('button', { class: 'number', title: 'Link to this turn', onclick: actions.link }, `#${step.number}`),
      h('strong', null, step.source),
      h('span', { class: 'dim' }, facts.join(' · ')),
      h(
        'span',
        { class: 'actions' },
        isAgent && actions.play && h('button', { class: 'quiet', onclick: actions.play }, 'Terminal'),
        isAgent && !isExport && h('button', { class: 'quiet', onclick: actions.exchange }, 'Exchange'),
      ),
    ),
    step.reasoning &&
      h('details', { class: 'reasoning' }, h('summary', null, 'Reasoning'), textBlock(step.reasoning, actions.raw)),
    isAgent
      ? saidByAgent(step.message, actions.raw)
      : longText(step.message, actions.raw, step.source === 'user' ? 14 : 6),
    ...step.calls.map(({ name, text, keystrokes }) =>
      h(
        'div',
        { class: 'call' },
        !keystrokes && h('span', { class: 'tool' }, line(name)),
        h('pre', { class: 'command', tabindex: '0' }, clean(typed(text.text, keystrokes))),
        cutNote(text, actions.raw),
      ),
    ),
    ...step.observations.flatMap(({ text, subagents }): Child[] => [
      text.text.trim() !== '' && h('div', { class: 'observation' }, longText(text, actions.raw, 24)),
      ...subagents.map(actions.subagent),
    ]),
    step.tooLarge && h('p', null, saveLink(actions.raw, 'Save the file')),
  )
}

/** A line feed at the end of keystrokes is the Enter key. */
function typed(text: string, keystrokes: boolean): string {
  return keystrokes ? text.replace(/\n$/, '') : text
}

/** Terminus replies with an analysis and a plan; other agents reply in free form. */
function saidByAgent(message: ViewText, raw: string | null): Child {
  const found = /^Analysis: ([\s\S]*?)\nPlan: ([\s\S]*)$/.exec(message.text)
  if (!found) return message.text.trim() === '' ? null : longText(message, raw, 30)
  const part = (title: string, text: string) =>
    text.trim() !== '' && [h('dt', null, title), h('dd', null, clean(text.trim()))]
  return [
    h('dl', { class: 'said' }, part('Analysis', found[1] ?? ''), part('Plan', found[2] ?? '')),
    cutNote(message, raw),
  ]
}

/** A text that shows its first lines and unfolds the rest. */
function longText(text: ViewText, raw: string | null, lines: number): Child {
  const all = clean(text.text).replace(/\s+$/, '')
  const rows = all.split('\n')
  const head = rows.slice(0, lines).join('\n').slice(0, 4000)
  if (rows.length <= lines + 2 && all.length <= 4000) return textBlock(text, raw)
  const pre = h('pre', { tabindex: '0' }, head)
  const more = h(
    'button',
    { class: 'quiet' },
    rows.length > lines ? `Show all ${whole(rows.length)} lines` : `Show all ${whole(all.length)} characters`,
  )
  const note = cutNote(text, raw)
  const tail = h('p', { class: 'foot' }, more)
  more.addEventListener('click', () => {
    pre.textContent = all
    fill(tail, note)
  })
  return [pre, tail]
}

function textBlock(text: ViewText, raw: string | null): Child {
  return [h('pre', { tabindex: '0' }, clean(text.text).replace(/\s+$/, '')), cutNote(text, raw)]
}

function cutNote({ text, chars }: ViewText, raw: string | null): Child {
  if (chars === undefined) return null
  return h(
    'p',
    { class: 'dim cut' },
    `The first ${whole(text.length)} of ${whole(chars)} characters. `,
    saveLink(raw, 'Save the file'),
  )
}
