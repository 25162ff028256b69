import { expect, test } from 'vitest'
import { promptMark } from './idle.ts'
import { TerminalSession } from './session.ts'

/** A session on a shell whose output the test writes. */
function openSession() {
  let write = (_: string) => {}
  const pty = {
    write() {},
    onData(listener: (chunk: string) => void) {
      write = listener
      return () => {}
    },
    resize() {},
    exited: new Promise<number>(() => {}),
    async close() {},
  }
  const session = new TerminalSession(pty, { cols: 80, rows: 24 })
  return { session, write: (text: string) => write(text) }
}

test('a shell that is slow to start is waited for longer than one that started and shows no prompt', async () => {
  const { session, write } = openSession()
  const starting = session.ready({ outputMs: 3_600_000, promptMs: 1 })
  setTimeout(() => write(`welcome\r\n$ ${promptMark}`), 100)
  await starting
  expect(await session.visible()).toBe('welcome\n$')
  const other = openSession()
  other.write('no mark of ours $ ')
  await other.session.ready({ outputMs: 3_600_000, promptMs: 1 })
})

test('a shell that never writes anything is not waited for forever', async () => {
  const { session } = openSession()
  await session.ready({ outputMs: 1, promptMs: 1 })
  expect(await session.visible()).toBe('')
})
