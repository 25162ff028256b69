import { fill, h } from '../dom.ts'
import type { Page } from '../page.ts'
import { duration } from '../text.ts'
import type { CastFile } from './cast.ts'

interface Screenlike {
  readonly element: HTMLElement
  reset(cols: number, rows: number): void
  write(data: string): Promise<void>
  resize(cols: number, rows: number): void
  draw(): void
}

type Turns = readonly { readonly turn: number; readonly at: number }[]

export interface Recording {
  readonly file: CastFile
  readonly turns: Turns
  readonly screen: Screenlike
}

export interface Player {
  toggle(): void
  /** Moves by a number of turns. */
  turn(by: number): void
  skip(sec: number): void
}

/** Shows a recording with its controls, starting at the turn in the address. */
export function makePlayer(page: Page, panel: HTMLElement, recording: Recording): Player {
  const { file, turns, screen } = recording
  const { length } = file
  let playing = false
  const controls = makeControls(recording, { toggle: () => toggle(), seek: (at) => void playback.seek(at) })
  const playback = new Playback(recording, () => controls.show(playback.position, playing))
  let last = 0
  const frame = async (now: number) => {
    if (!playing || page.signal.aborted || !panel.isConnected) return
    const passed = Math.min(0.25, (now - last) / 1000) * Number(controls.speed.value)
    last = now
    await playback.seek(playback.position + passed)
    if (playback.position >= length) playing = false
    controls.show(playback.position, playing)
    if (playing) requestAnimationFrame((at) => void frame(at))
  }
  const toggle = () => {
    playing = !playing
    if (playing && playback.position >= length) void playback.seek(0)
    last = performance.now()
    controls.show(playback.position, playing)
    if (playing) requestAnimationFrame((at) => void frame(at))
  }
  const turn = (by: number) => {
    const at = turns.findLastIndex((each) => each.at <= playback.heading + 0.01)
    // Going back from the first turn leads to the beginning.
    if (at + by < 0) return void playback.seek(0)
    const target = turns[at + by]
    if (!target) return
    page.remember({ turn: String(target.turn) })
    void playback.seek(target.at)
  }
  fill(panel, h('div', { class: 'replay' }, ...controls.elements, screen.element))
  // Without a turn of that number, starts at the first one; without any turns, at the end.
  const wanted = Number(page.query.get('turn') ?? 0)
  const start = turns.find((each) => each.turn === wanted)
  void playback.seek(start ? start.at : Math.min(length, turns[0]?.at ?? length))
  return { toggle, turn, skip: (sec) => void playback.seek(playback.heading + sec) }
}

/** Brings a screen to the state of a recording at a given time. */
class Playback {
  position = 0
  /** Where the last seek will end: repeated key presses add up from there. */
  heading = 0
  private next = 0
  private seeking: Promise<void> = Promise.resolve()

  constructor(
    private readonly recording: Recording,
    private readonly onMove: () => void,
  ) {}

  seek(to: number): Promise<void> {
    const { file, screen } = this.recording
    const target = Math.min(file.length, Math.max(0, to))
    this.heading = target
    this.seeking = this.seeking.then(async () => {
      if (target < this.position) {
        screen.reset(file.cols, file.rows)
        this.next = 0
      }
      await this.advance(target)
      this.onMove()
    })
    return this.seeking
  }

  private async advance(until: number): Promise<void> {
    const { file, screen } = this.recording
    let data = ''
    for (let event = file.events[this.next]; event && event.at <= until; event = file.events[++this.next]) {
      if (event.kind === 'o') data += event.data
      else {
        await screen.write(data)
        data = ''
        const [cols = 80, rows = 24] = event.data.split('x').map(Number)
        screen.resize(cols, rows)
      }
    }
    if (data !== '') await screen.write(data)
    this.position = until
  }
}

interface ControlActions {
  readonly toggle: () => void
  readonly seek: (at: number) => void
}

/** The button, the speed and the timeline with its turns. */
function makeControls({ file, turns, screen }: Recording, { toggle, seek }: ControlActions) {
  const most = Math.max(0.1, file.length)
  const button = h('button', { onclick: toggle, 'aria-label': 'Play' }, '▶')
  const speed = h(
    'select',
    { 'aria-label': 'Speed' },
    ...[1, 2, 4, 8, 16].map((n) => h('option', { value: n, selected: n === 2 }, `${n}×`)),
  )
  const clock = h('span', { class: 'clock' })
  const turnText = h('span', { class: 'dim' })
  const range = h('input', {
    ...{ type: 'range', min: 0, max: most, step: 0.01, value: 0, 'aria-label': 'Position' },
    oninput: () => seek(Number(range.value)),
  })
  const marks = turns.map(({ turn, at }) => {
    const named = { title: `Turn ${turn}`, 'aria-label': `Go to turn ${turn}` }
    const mark = h('button', { class: 'mark', ...named, onclick: () => seek(at) }, String(turn))
    mark.style.left = `${(100 * at) / most}%`
    return mark
  })
  const show = (position: number, playing: boolean) => {
    range.value = String(position)
    clock.textContent = `${duration(position)} of ${duration(file.length)}`
    const now = turns.findLast(({ at }) => at <= position + 0.01)
    turnText.textContent = now ? `Turn ${now.turn}` : ''
    button.textContent = playing ? '❚❚' : '▶'
    button.setAttribute('aria-label', playing ? 'Pause' : 'Play')
    screen.draw()
  }
  const elements = [
    h('div', { class: 'tools' }, button, speed, clock, turnText),
    h('div', { class: 'timeline' }, range, h('div', { class: 'marks' }, ...marks)),
  ]
  return { elements, speed, show }
}
