import { expect, test } from 'vitest'
import { awaitEnd } from './container.ts'
import type { ContainerEngine } from './container-engine.ts'

test.each([
  [{ StatusCode: 0 }, true],
  [{ StatusCode: -1, Error: { Message: 'context canceled' } }, false],
  [undefined, false],
])('an answer of %j to who waits for the end of a container: %s', async (body, ended) => {
  const engine = { ask: async () => ({ status: 200, body }) } as unknown as ContainerEngine
  expect(await awaitEnd(engine, 'box')).toBe(ended)
})
