import type { ViewTask, ViewTaskPart } from '../../src/core/view-tasks.ts'
import { get } from '../api.ts'
import { type Child, fill, h } from '../dom.ts'
import { go, type Page } from '../page.ts'
import { fileText, fileViewer } from '../parts/files.ts'
import { checksPanel } from '../parts/task-checks.ts'
import { trialsPanel } from '../parts/task-trials.ts'
import { verdictBadge } from '../parts/task-verdict.ts'
import { makeTabs } from '../parts/toolbar.ts'
import { line, percent, plural, whole } from '../text.ts'

const parts: readonly (readonly [part: ViewTaskPart, title: string, first: string])[] = [
  ['environment', 'Environment', 'environment/Dockerfile'],
  ['tests', 'Tests', 'tests/test.sh'],
  ['solution', 'Solution', 'solution/solve.sh'],
]

/** A task: whether it is sound, how often it is solved, what it asks for and its files. */
export async function taskPage(page: Page): Promise<void> {
  const { main, names, signal } = page
  const [asked = ''] = names
  page.head([{ text: asked.replace(/^@/, '') }])
  const task = await get<ViewTask>(['tasks', asked], {}, signal)
  page.head([{ text: task.item.name }])
  const place = ['tasks', task.item.id]
  const shown = parts.filter(([part]) => task.files.some((file) => file.part === part))
  const tabs = [
    {
      id: 'instruction',
      title: 'Instruction',
      show: (panel: HTMLElement) => showInstruction(page, place, task, panel),
    },
    ...shown.map(([part, title, first]) => ({
      ...{ id: part, title },
      show: (panel: HTMLElement) => {
        const own = task.files.filter((file) => file.part === part)
        fill(panel, fileViewer(page, place, own, first))
      },
    })),
    {
      ...{ id: 'files', title: 'All files' },
      show: (panel: HTMLElement) =>
        fill(
          panel,
          task.files.length === 0
            ? h('p', { class: 'dim' }, line(task.trouble ?? 'No files.'))
            : fileViewer(page, place, task.files, 'task.toml'),
          task.filesCut && h('p', { class: 'warn' }, 'Not all files are listed.'),
        ),
    },
    { id: 'checks', title: 'Checks', show: (panel: HTMLElement) => fill(panel, checksPanel(task)) },
    { id: 'trials', title: 'Solve rates', show: (panel: HTMLElement) => fill(panel, trialsPanel(page, place, task)) },
  ]
  const bar = makeTabs(page, tabs)
  page.keys([
    ...tabs.map(({ id, title }, i) => ({ key: String(i + 1), does: title.toLowerCase(), run: () => bar.choose(id) })),
    { key: 'Escape', does: 'all tasks', run: () => go('#/tasks') },
  ])
  fill(main, ...topOf(task), bar.bar, bar.panel)
  bar.start()
  if (task.complete) return
  // Once all jobs are read, the numbers are complete, and the page reloads.
  const look = setInterval(async () => {
    const now = await get<ViewTask>(['tasks', asked], {}, signal).catch(() => null)
    if (now?.complete && !signal.aborted) dispatchEvent(new HashChangeEvent('hashchange'))
  }, 1000)
  signal.addEventListener('abort', () => clearInterval(look))
}

function topOf(task: ViewTask): Child[] {
  const { item, facts, path } = task
  const kind = { accepted: 'solved', rejected: 'failed', unknown: 'partial' }[item.verdict ?? 'unknown']
  const all: [string, string][] = [
    ['Family', item.family ?? ''],
    ['Difficulty', item.difficulty ?? ''],
    ...facts.map(([name, value]): [string, string] => [name, value]),
    ['From', path ?? ''],
  ]
  return [
    h('h1', null, h('bdi', null, line(item.name)), ' ', verdictBadge(item.verdict)),
    h('p', { class: `why ${item.verdict === null ? '' : kind}` }, sentenceOf(task)),
    h(
      'dl',
      { class: 'facts' },
      ...all
        .filter(([, value]) => value !== '')
        .map(([title, value]) => h('div', null, h('dt', null, title), h('dd', null, h('bdi', null, line(value))))),
    ),
  ]
}

/** The first thing to know: whether it is sound and how hard it is. */
function sentenceOf({
  item: { verdict, law, reason, trials, mean },
  isOld,
  trouble,
  complete,
  checks,
}: ViewTask): string {
  const why = `the law ${line(law ?? '')} does not hold: ${line(reason ?? '').replace(/\.$/, '')}.`
  const said = {
    accepted: `Accepted: ${lawsText(checks)}.`,
    rejected: `Rejected: ${why}`,
    unknown: `Not known to be sound: ${line(law ?? '')}: ${line(reason ?? '').replace(/\.$/, '')}.`,
  }
  const reading = complete ? '' : ' Jobs are still being read.'
  const tried =
    mean === null ? 'No trial of it has a reward.' : `${plural(trials, 'trial')} scored ${percent(mean)} on average.`
  return [
    verdict === null ? 'Not checked.' : said[verdict],
    isOld ? 'The check was run on another version of the task.' : '',
    tried + reading,
    line(trouble ?? ''),
  ]
    .filter((text) => text !== '')
    .join(' ')
}

function lawsText(checks: ViewTask['checks']): string {
  const count = (outcome: string) => checks.filter((check) => check.outcome === outcome).length
  const skipped = count('skipped')
  const holding = count('ok')
  return `${plural(holding, 'law')} of tasks check ${holding === 1 ? 'holds' : 'hold'}${skipped === 0 ? '' : `, ${skipped} ${skipped === 1 ? 'was' : 'were'} skipped`}`
}

function showInstruction(page: Page, place: readonly string[], task: ViewTask, panel: HTMLElement): void {
  const all = task.files.filter(({ part }) => part === 'instruction')
  const most = 20
  fill(
    panel,
    ...all.slice(0, most).map(({ path }) => h('section', { class: 'prose' }, fileText(page, place, path))),
    all.length > most && h('p', { class: 'dim' }, `and ${whole(all.length - most)} more among the files`),
    all.length === 0 && h('p', { class: 'dim' }, line(task.trouble ?? 'The task has no instruction.')),
  )
}
