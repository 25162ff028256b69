import type { ViewSteps, ViewTrial } from '../../src/core/view.ts'
import { get, getText, rawAddress } from '../api.ts'
import { fill, h } from '../dom.ts'
import type { Key, Page } from '../page.ts'
import { duration, line } from '../text.ts'
import { type CastFile, parseCast, turnTimes } from './cast.ts'
import { saveLink } from './files.ts'

export interface ReplayRequest {
  readonly page: Page
  readonly place: readonly string[]
  readonly trial: ViewTrial
  /** The recording, below the trial's directory; null when there is none. */
  readonly cast: string | null
  readonly panel: HTMLElement
}

const largest = 64 << 20

/** Plays the recording of the terminal, with the turns on its timeline. Gives the keys of the tab. */
export function showReplay({ page, place, trial, cast, panel }: ReplayRequest): Key[] {
  if (cast === null) {
    fill(panel, h('p', { class: 'dim' }, 'No terminal was recorded in this trial.'))
    return []
  }
  const size = trial.files.find(({ path }) => path === cast)?.bytes ?? 0
  if (size > largest) {
    fill(
      panel,
      h('p', null, 'The recording is too large to be played here. ', saveLink(rawAddress(place, cast), 'Save it')),
    )
    return []
  }
  fill(panel, h('p', { class: 'dim' }, 'Loading the recording …'))
  const player: { toggle(): void; turn(by: number): void; skip(sec: number): void } = {
    toggle() {},
    turn() {},
    skip() {},
  }
  const load = async () => {
    const folder = cast.replace(/\/[^/]*$/, '')
    const [text, steps, { Screen }] = await Promise.all([
      getText(place, cast, page.signal),
      get<ViewSteps>([...place, 'steps'], { file: `${folder}/trajectory.json`, limit: 200 }, page.signal).catch(
        () => null,
      ),
      import('./screen.ts'),
    ])
    const file = parseCast(text)
    if (page.signal.aborted || !panel.isConnected) return
    if (file === null) return fill(panel, h('p', { class: 'dim' }, 'The recording cannot be read.'))
    Object.assign(
      player,
      makePlayer(page, panel, {
        file,
        turns: turnTimes(file, steps?.steps ?? []),
        screen: new Screen(file.cols, file.rows),
      }),
    )
  }
  load().catch((error: Error) => {
    if (!page.signal.aborted) fill(panel, h('p', { class: 'dim' }, line(error.message)))
  })
  return [
    { key: ' ', does: 'play or pause', run: () => player.toggle() },
    { key: 'j', does: 'next turn', run: () => player.turn(1) },
    { key: 'k', does: 'previous turn', run: () => player.turn(-1) },
    { key: '.', does: 'five seconds forward', run: () => player.skip(5) },
    { key: ',', does: 'five seconds back', run: () => player.skip(-5) },
  ]
}

interface Screenlike {
  readonly element: HTMLElement
  reset(cols: number, rows: number): void
  write(data: string): Promise<void>
  resize(cols: number, rows: number): void
  draw(): void
}

type Turns = readonly { readonly turn: number; readonly at: number }[]

interface Recording {
  readonly file: CastFile
  readonly turns: Turns
  readonly screen: Screenlike
}

function makePlayer(page: Page, panel: HTMLElement, { file, turns, screen }: Recording) {
  const { events, length } = file
  let position = 0
  // Where the last seek will end: keys that follow each other count from there.
  let heading = 0
  let next = 0
  let playing = false
  let seeking: Promise<void> = Promise.resolve()
  const button = h('button', { onclick: () => toggle(), 'aria-label': 'Play' }, '▶')
  const speed = h(
    'select',
    { 'aria-label': 'Speed' },
    ...[1, 2, 4, 8, 16].map((n) => h('option', { value: n, selected: n === 2 }, `${n}×`)),
  )
  const clock = h('span', { class: 'clock' })
  const turnText = h('span', { class: 'dim' })
  const range = h('input', {
    type: 'range',
    min: 0,
    max: Math.max(0.1, length),
    step: 0.01,
    value: 0,
    'aria-label': 'Position',
    oninput: () => void seek(Number(range.value)),
  })
  const marks = h('div', { class: 'marks' })
  for (const { turn, at } of turns) {
    const mark = h(
      'button',
      { class: 'mark', title: `Turn ${turn}`, 'aria-label': `Go to turn ${turn}`, onclick: () => void seek(at) },
      String(turn),
    )
    mark.style.left = `${(100 * at) / Math.max(0.1, length)}%`
    marks.append(mark)
  }
  const show = () => {
    range.value = String(position)
    clock.textContent = `${duration(position)} of ${duration(length)}`
    const now = turns.findLast(({ at }) => at <= position + 0.01)
    turnText.textContent = now ? `Turn ${now.turn}` : ''
    button.textContent = playing ? '❚❚' : '▶'
    button.setAttribute('aria-label', playing ? 'Pause' : 'Play')
    screen.draw()
  }
  const advance = async (until: number) => {
    let data = ''
    for (let event = events[next]; event && event.at <= until; event = events[++next]) {
      if (event.kind === 'o') data += event.data
      else {
        await screen.write(data)
        data = ''
        const [cols = 80, rows = 24] = event.data.split('x').map(Number)
        screen.resize(cols, rows)
      }
    }
    if (data !== '') await screen.write(data)
    position = until
  }
  const seek = (to: number): Promise<void> => {
    const target = Math.min(length, Math.max(0, to))
    heading = target
    seeking = seeking.then(async () => {
      if (target < position) {
        screen.reset(file.cols, file.rows)
        next = 0
      }
      await advance(target)
      show()
    })
    return seeking
  }
  let last = 0
  const frame = async (now: number) => {
    if (!playing || page.signal.aborted || !panel.isConnected) return
    const passed = Math.min(0.25, (now - last) / 1000) * Number(speed.value)
    last = now
    await seek(position + passed)
    if (position >= length) playing = false
    show()
    if (playing) requestAnimationFrame((at) => void frame(at))
  }
  const toggle = () => {
    playing = !playing
    if (playing && position >= length) void seek(0)
    last = performance.now()
    show()
    if (playing) requestAnimationFrame((at) => void frame(at))
  }
  const turn = (by: number) => {
    const at = turns.findLastIndex((each) => each.at <= heading + 0.01)
    // Before the first turn is the beginning.
    if (at + by < 0) return void seek(0)
    const target = turns[at + by]
    if (!target) return
    page.remember({ turn: String(target.turn) })
    void seek(target.at)
  }
  fill(
    panel,
    h(
      'div',
      { class: 'replay' },
      h('div', { class: 'tools' }, button, speed, clock, turnText),
      h('div', { class: 'timeline' }, range, marks),
      screen.element,
    ),
  )
  // What the turn came to is shown rather than its first keystroke.
  const wanted = Number(page.query.get('turn') ?? 0)
  const start = turns.find((each) => each.turn === wanted)
  void seek(start ? start.at : Math.min(length, turns[0]?.at ?? length))
  return { toggle, turn, skip: (sec: number) => void seek(heading + sec) }
}
