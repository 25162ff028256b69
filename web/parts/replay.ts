import type { ViewSteps, ViewTrial } from '../../src/core/view.ts'
import { get, getText, rawAddress } from '../api.ts'
import { fill, h } from '../dom.ts'
import type { Key, Page } from '../page.ts'
import { line } from '../text.ts'
import { parseCast, turnTimes } from './cast.ts'
import { saveLink } from './files.ts'
import { makePlayer, type Player } from './player.ts'

export interface ReplayRequest {
  readonly page: Page
  readonly place: readonly string[]
  readonly trial: ViewTrial
  /** The recording's path in the trial's directory; null if there is none. */
  readonly cast: string | null
  readonly panel: HTMLElement
}

const largest = 64 << 20

/** Plays the terminal recording, with the turns on its timeline. Returns the tab's shortcuts. */
export function showReplay({ page, place, trial, cast, panel }: ReplayRequest): Key[] {
  if (cast === null) {
    fill(panel, h('p', { class: 'dim' }, 'No terminal was recorded in this trial.'))
    return []
  }
  const size = trial.files.find(({ path }) => path === cast)?.bytes ?? 0
  if (size > largest) {
    fill(panel, h('p', null, 'The recording is too large to play here. ', saveLink(rawAddress(place, cast), 'Save it')))
    return []
  }
  fill(panel, h('p', { class: 'dim' }, 'Loading the recording …'))
  const player: Player = { toggle() {}, turn() {}, skip() {} }
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
    if (file === null) return fill(panel, h('p', { class: 'dim' }, 'Cannot read the recording.'))
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
