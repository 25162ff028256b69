import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { held } from './run-to-end.ts'

test('a child’s output is there for a reader that comes after its end', async () => {
  const child = spawn('printf', ['hello'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const output = held(child.stdout)
  await once(child, 'close')
  expect(await text(output)).toBe('hello')
})
