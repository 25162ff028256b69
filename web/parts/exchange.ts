import type { ViewExchange, ViewMessage } from '../../src/core/view.ts'
import { get, rawAddress } from '../api.ts'
import { h } from '../dom.ts'
import type { Page } from '../page.ts'
import { clean, count, duration, line, whole } from '../text.ts'
import { saveLink } from './files.ts'

/** Shows exactly what a model was sent and what it replied, in an overlay. */
export async function showExchange(page: Page, place: readonly string[], folder: string, call: number): Promise<void> {
  const found = await get<ViewExchange>([...place, 'exchanges'], { folder, call }, page.signal).catch(
    (error: Error) => error,
  )
  if (found instanceof Error) return page.say(found.message)
  const raw = rawAddress(place, `${folder}/exchanges.jsonl`)
  const facts = [
    `${count(found.inputTokens)} tokens in, ${count(found.outputTokens)} out`,
    found.latencyMs === null ? null : duration(found.latencyMs / 1000),
    `stopped by ${line(found.finish)}`,
    found.conversation === 'main' ? null : `conversation ${line(found.conversation)}`,
    found.tools.length === 0 ? null : `tools: ${found.tools.map(line).join(', ')}`,
  ].filter((fact) => fact !== null)
  const close = h('button', { autofocus: true, class: 'dialog-close' }, 'Close')
  const dialog = h(
    'dialog',
    { class: 'exchange', 'aria-label': `Call ${found.call} of the model` },
    h(
      'header',
      { class: 'dialog-head' },
      h('h2', { class: 'dialog-title' }, `Call ${found.call}`),
      h('span', { class: 'dim' }, facts.join(' · ')),
      saveLink(raw, 'Save all'),
      close,
    ),
    h('h3', null, `Sent: ${whole(found.sent.length)} ${found.sent.length === 1 ? 'message' : 'messages'}`),
    ...found.sent.map((message, i) => messageBlock(message, i >= found.sent.length - 1)),
    h('h3', null, 'Replied'),
    messageBlock(found.reply, true),
  )
  close.addEventListener('click', () => dialog.close())
  dialog.addEventListener('close', () => dialog.remove())
  page.signal.addEventListener('abort', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
}

function messageBlock({ role, text, reasoning, toolCalls }: ViewMessage, open: boolean): HTMLElement {
  const size = text.chars ?? text.text.length
  return h(
    'details',
    { class: `message ${line(role)}`, open },
    h('summary', null, h('strong', null, line(role)), h('span', { class: 'dim' }, ` ${whole(size)} characters`)),
    reasoning && h('pre', { class: 'reasoning', tabindex: '0' }, clean(reasoning.text)),
    h('pre', { tabindex: '0' }, clean(text.text)),
    text.chars !== undefined && h('p', { class: 'dim' }, `The first ${whole(text.text.length)} characters are shown.`),
    ...toolCalls.map((call) =>
      h(
        'div',
        { class: 'call' },
        h('span', { class: 'tool' }, line(call.name)),
        h('pre', { tabindex: '0' }, clean(call.text.text)),
      ),
    ),
  )
}
