import { expect, test } from 'vitest'
import { BoundaryError } from '../../core/errors.ts'
import { makeReadyTrials, type ReadyTrials } from './ready-trials.ts'

interface Building {
  readonly key: string
  readonly finish: () => void
  readonly fail: (error: Error) => void
}

/**
 * Preparations that end when the test says so; a trial's name up to its dash is what it needs, and a name starting with
 * `-` needs nothing.
 */
function workplace(trials: readonly string[], settings: { window?: number; atOnce?: number } = {}) {
  const building: Building[] = []
  const stop = new AbortController()
  const find = async (trial: string) => {
    const key = trial.split('-')[0] ?? ''
    const prepare = (signal: AbortSignal) =>
      new Promise<void>((finish, fail) => {
        building.push({ key, finish, fail })
        signal.addEventListener('abort', () => fail(signal.reason), { once: true })
      })
    return key === '' ? null : { key, prepare }
  }
  const ready = makeReadyTrials(trials, { window: 10, atOnce: 10, ...settings, find, signal: stop.signal })
  return { ready, building, stop }
}

/** Lets all pending work proceed. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

async function drain(ready: ReadyTrials<string>): Promise<string[]> {
  const taken: string[] = []
  while (await ready.any()) taken.push(ready.shift().trial)
  return taken
}

test('gives trials that need nothing in their order', async () => {
  const { ready } = workplace(['-1', '-2', '-3', '-4'], { window: 2 })
  expect(await drain(ready)).toEqual(['-1', '-2', '-3', '-4'])
  expect(await ready.any()).toBe(false)
})

test('prepares once what several trials need, and lets others overtake meanwhile', async () => {
  const { ready, building } = workplace(['a-1', 'a-2', '-3', 'b-4'])
  expect(await ready.any()).toBe(true)
  await settle()
  expect(building.map(({ key }) => key)).toEqual(['a', 'b'])
  expect(ready.ready()).toEqual(['-3'])
  expect(ready.shift()).toEqual({ trial: '-3', failure: null })
  building[0]?.finish()
  await settle()
  expect(ready.ready()).toEqual(['a-1', 'a-2'])
  building[1]?.finish()
  expect(await drain(ready)).toEqual(['a-1', 'a-2', 'b-4'])
  expect(building).toHaveLength(2)
})

test('prepares no more at once than asked for, and looks no further ahead', async () => {
  const { ready, building } = workplace(['a-1', 'b-2', 'c-3', 'd-4'], { atOnce: 1, window: 3 })
  const any = ready.any()
  await settle()
  expect(building.map(({ key }) => key)).toEqual(['a'])
  building[0]?.finish()
  await any
  await settle()
  expect(building.map(({ key }) => key)).toEqual(['a', 'b'])
  building[1]?.finish()
  await settle()
  building[2]?.finish()
  await settle()
  expect(building.map(({ key }) => key)).toEqual(['a', 'b', 'c'])
})

test('hands a failure to the trials it concerns and tries again for later ones, unless that is no use', async () => {
  for (const retryable of [true, false]) {
    const { ready, building } = workplace(['a-1', 'a-2'], { window: 1 })
    const failure = new BoundaryError('sandbox', 'no', { retryable })
    const first = ready.any()
    await settle()
    building[0]?.fail(failure)
    await first
    expect(ready.shift()).toEqual({ trial: 'a-1', failure })
    await settle()
    expect(building).toHaveLength(retryable ? 2 : 1)
    building[1]?.finish()
    await ready.any()
    expect(ready.shift().failure).toBe(retryable ? null : failure)
  }
})

test('stops waiting and building when it is aborted', async () => {
  const { ready, building, stop } = workplace(['a-1'])
  const any = ready.any()
  await settle()
  expect(building).toHaveLength(1)
  stop.abort()
  expect(await any).toBe(false)
  await ready.settled()
})
