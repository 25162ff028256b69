import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { plainEnvironment } from '../../../test/contracts/environment.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import { type CloudImage, plainImage } from './image.ts'
import { type Cloud, makeCloudProvider } from './provider.ts'

/** An account where a build ends only when the test ends it. */
function slowAccount() {
  const building = new Map<string, (image: CloudImage) => void>()
  const unused = async () => {
    throw new Error('not asked for here')
  }
  const cloud: Cloud = {
    check: async () => {},
    nameImage: async ({ dir }) => dir,
    hasImage: async () => false,
    makeImage: ({ dir }) => new Promise((resolve) => building.set(dir, resolve)),
    ...{ create: unused, list: unused, destroy: unused },
  }
  const until = async (isSo: () => boolean) => {
    while (!isSo()) await setImmediate()
  }
  return { cloud, building, until }
}

test('a build that is aborted while it waits for its turn blocks no other', async () => {
  const { cloud, building, until } = slowAccount()
  const provider = makeCloudProvider({
    ...{ name: 'slow', can: { gpu: false, networkPerPhase: false }, extendEverySec: 60, maxBuilds: 1 },
    limits: { cpu: true, memory: true, pids: true, storage: true },
    context: { env: {}, stateDir: await makeTempDir() },
    open: async () => cloud,
  })
  const given = new AbortController()
  const prepare = (name: string, signal?: AbortSignal) =>
    provider.prepare?.(plainEnvironment(name), signal ? { signal } : {})
  const first = prepare('first')
  await until(() => building.has('first'))
  const second = prepare('second', given.signal)
  const third = prepare('third')
  await setImmediate()
  given.abort()
  // It need not wait for the previous build.
  await expect(second).rejects.toMatchObject({ name: 'AbortError' })
  building.get('first')?.(plainImage('first'))
  await first
  await until(() => building.has('third'))
  building.get('third')?.(plainImage('third'))
  await third
  expect([...building.keys()]).toEqual(['first', 'third'])
})
