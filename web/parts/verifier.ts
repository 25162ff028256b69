import type { ViewTrial } from '../../src/core/view.ts'
import { type Child, fill, h } from '../dom.ts'
import type { Page } from '../page.ts'
import { clean, duration, line, plural, whole } from '../text.ts'
import { fileText } from './files.ts'

/** What the tests reported, test by test if available, and which system files the agent had changed. */
export function showVerifier(page: Page, place: readonly string[], trial: ViewTrial, panel: HTMLElement): void {
  const outputs = trial.files.filter(
    ({ path, bytes }) => /(^|\/)verifier\/[^/]+$/.test(path) && !path.endsWith('ctrf.json') && bytes > 0,
  )
  fill(
    panel,
    trial.tests.length > 0 && testTable(trial),
    ...systemPart(trial),
    ...outputs.slice(0, 20).map(({ path }) => h('section', null, fileText(page, place, path))),
    outputs.length === 0 && trial.tests.length === 0 && h('p', { class: 'dim' }, 'The verifier wrote nothing.'),
  )
}

function testTable({ tests }: ViewTrial): HTMLElement {
  const order = [...tests].sort((a, b) => Number(a.status === 'passed') - Number(b.status === 'passed'))
  const passed = tests.filter(({ status }) => status === 'passed').length
  return h(
    'section',
    null,
    h('h2', null, `${whole(passed)} of ${plural(tests.length, 'test')} passed`),
    h(
      'table',
      { class: 'list' },
      h('caption', { class: 'hidden' }, 'Tests'),
      h(
        'thead',
        null,
        h('tr', null, ...['Status', 'Test', 'Message', 'Took'].map((text) => h('th', { scope: 'col' }, text))),
      ),
      h(
        'tbody',
        null,
        ...order.map(({ name, status, message, seconds }) =>
          h(
            'tr',
            null,
            h(
              'td',
              null,
              h(
                'span',
                { class: `badge ${status === 'passed' ? 'solved' : status === 'failed' ? 'unsolved' : 'cancelled'}` },
                line(status),
              ),
            ),
            h('td', { class: 'clip' }, h('bdi', null, line(name))),
            h(
              'td',
              null,
              message &&
                h(
                  'details',
                  null,
                  h('summary', null, line(message).slice(0, 100)),
                  h('pre', { tabindex: '0' }, clean(message)),
                ),
            ),
            h('td', { class: 'num' }, duration(seconds)),
          ),
        ),
      ),
    ),
  )
}

function systemPart({ system }: ViewTrial): Child[] {
  return system.map(({ restored, onImage, onAgent, differ }) =>
    h(
      'section',
      { class: differ ? 'tampered' : '' },
      h('h2', null, 'System files that the agent changed'),
      h(
        'p',
        null,
        `${whole(restored.total)} files were restored to the image's versions while the tests ran. `,
        differ
          ? line(
              `The tests gave ${JSON.stringify(onImage)} on the image's files and ${JSON.stringify(onAgent ?? null)} on the agent's: the lower one was used.`,
            )
          : 'That made no difference to the rewards.',
      ),
      h(
        'ul',
        { class: 'plain files-changed' },
        ...restored.files
          .slice(0, 200)
          .map(({ path, change }) =>
            h('li', null, h('span', { class: 'tool' }, change), ' ', h('code', null, line(path))),
          ),
      ),
      restored.files.length > 200 && h('p', { class: 'dim' }, `and ${restored.total - 200} more`),
    ),
  )
}
