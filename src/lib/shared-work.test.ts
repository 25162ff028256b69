import { expect, test } from 'vitest'
import { SharedWork } from './shared-work.ts'

/** Work that ends when the test ends it, or when it is aborted. */
function makeWork() {
  const started: AbortSignal[] = []
  let finish: (value: string) => void = () => {}
  const work = (signal: AbortSignal) =>
    new Promise<string>((resolve, reject) => {
      started.push(signal)
      finish = resolve
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  return { work, started, finish: (value: string) => finish(value) }
}

const never = () => new AbortController().signal

test('many callers share one run, and a later caller starts a new one', async () => {
  const { work, started, finish } = makeWork()
  const shared = new SharedWork<string>()
  const callers = Array.from({ length: 8 }, () => shared.run('k', never(), work))
  finish('done')
  expect(new Set(await Promise.all(callers))).toEqual(new Set(['done']))
  const later = shared.run('k', never(), work)
  finish('again')
  expect(await later).toBe('again')
  expect(started).toHaveLength(2)
})

test('one caller that leaves does not disturb the others', async () => {
  const { work, started, finish } = makeWork()
  const shared = new SharedWork<string>()
  const impatient = new AbortController()
  const leaving = shared.run('k', impatient.signal, work)
  const staying = shared.run('k', never(), work)
  impatient.abort()
  await expect(leaving).rejects.toMatchObject({ name: 'AbortError' })
  expect(started[0]!.aborted).toBe(false)
  finish('done')
  expect(await staying).toBe('done')
})

test('the last caller to leave aborts the work and waits for it', async () => {
  const { work, started } = makeWork()
  const shared = new SharedWork<string>()
  const controller = new AbortController()
  const callers = [1, 2].map(() => shared.run('k', controller.signal, work))
  controller.abort()
  for (const caller of callers) await expect(caller).rejects.toMatchObject({ name: 'AbortError' })
  expect(started[0]!.aborted).toBe(true)
})

test('a caller that arrives while work is discarded gets a new run', async () => {
  const { work, started, finish } = makeWork()
  const shared = new SharedWork<string>()
  const controller = new AbortController()
  const leaving = shared.run('k', controller.signal, work)
  controller.abort()
  await Promise.resolve()
  await Promise.resolve()
  await Promise.resolve()
  const fresh = shared.run('k', never(), work)
  await expect(leaving).rejects.toMatchObject({ name: 'AbortError' })
  finish('done')
  expect(await fresh).toBe('done')
  expect(started).toHaveLength(2)
})

test('a failure reaches every caller', async () => {
  const shared = new SharedWork<string>()
  const work = () => Promise.reject(new Error('no'))
  for (const caller of [1, 2].map(() => shared.run('k', never(), work))) await expect(caller).rejects.toThrow('no')
})
