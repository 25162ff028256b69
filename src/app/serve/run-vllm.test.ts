import { expect, test } from 'vitest'
import { type FoundReplicas, watchReplicas } from './run-vllm.ts'

/** Copies at these addresses, with a function for each that makes it die. */
function copies(...urls: string[]) {
  const kill: ((error: Error) => void)[] = []
  const found = urls.map((url): FoundReplicas => {
    const gone = new Promise<never>((_, reject) => kill.push(reject))
    return { urls: [url], group: { server: { gone } } }
  })
  return { found, kill }
}

/** Records notifications slowly: each waits until it is released. */
function slowly() {
  const told: string[][] = []
  const waiting: (() => void)[] = []
  const tell = (left: readonly string[]) =>
    new Promise<void>((done) =>
      waiting.push(() => {
        told.push([...left])
        done()
      }),
    )
  return { told, waiting, tell }
}

const soon = () => new Promise((done) => setImmediate(done))

test('remaining addresses are reported one report at a time', async () => {
  const { found, kill } = copies('a', 'b', 'c')
  const { told, waiting, tell } = slowly()
  const watched = watchReplicas(found, { tell, notify: () => {}, signal: new AbortController().signal })
  kill[0]?.(new Error('killed'))
  await soon()
  kill[1]?.(new Error('killed'))
  await soon()
  expect(waiting).toHaveLength(1)
  waiting[0]?.()
  await soon()
  waiting[1]?.()
  await soon()
  expect(told).toEqual([['b', 'c'], ['c']])
  kill[2]?.(new Error('the last one'))
  await expect(watched).rejects.toThrow('the last one')
})

test('a telling under way is waited for at the end, and none begins when those left are stopped', async () => {
  const { found, kill } = copies('a', 'b', 'c')
  const { told, waiting, tell } = slowly()
  const stop = new AbortController()
  let isOver = false
  const watched = watchReplicas(found, { tell, notify: () => {}, signal: stop.signal }).then(() => {
    isOver = true
  })
  kill[0]?.(new Error('killed'))
  await soon()
  stop.abort()
  await soon()
  expect(isOver).toBe(false)
  kill[1]?.(new Error('stopped'))
  waiting[0]?.()
  await watched
  await soon()
  expect(told).toEqual([['b', 'c']])
  expect(waiting).toHaveLength(1)
})

test('a telling that fails ends the watch', async () => {
  const { found, kill } = copies('a', 'b')
  const tell = () => Promise.reject(new Error('disk full'))
  const watched = watchReplicas(found, { tell, notify: () => {}, signal: new AbortController().signal })
  kill[0]?.(new Error('killed'))
  await expect(watched).rejects.toThrow('disk full')
})
