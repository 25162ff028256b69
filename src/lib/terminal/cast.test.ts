import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Cast } from './cast.ts'

const dir = mkdtempSync(join(tmpdir(), 'cast-'))
const read = (path: string) =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

test('a recording is a header and one line per event, in order', async () => {
  const path = join(dir, 'recording.cast')
  const cast = new Cast(path, { cols: 160, rows: 40 })
  cast.output('héllo\r\n\x1b[m')
  cast.input('ls\r')
  cast.resize(80, 24)
  await cast.close()
  const [header, ...events] = read(path)
  expect(header).toMatchObject({ version: 2, width: 160, height: 40, env: { TERM: 'xterm-256color' } })
  expect(events.map(([, kind, data]) => [kind, data])).toEqual([
    ['o', 'héllo\r\n\x1b[m'],
    ['i', 'ls\r'],
    ['r', '80x24'],
  ])
  const times = events.map(([at]) => at)
  expect(times).toEqual([...times].sort((a, b) => a - b))
})

test('what was recorded is on disk before the recording is closed', async () => {
  const path = join(dir, 'open.cast')
  const cast = new Cast(path, { cols: 80, rows: 24 })
  cast.output('here')
  while (!readOrEmpty(path).includes('here')) await new Promise((resolve) => setTimeout(resolve, 10))
  await cast.close()
})

test('a recording stops at its size and says so', async () => {
  const path = join(dir, 'long.cast')
  const cast = new Cast(path, { cols: 80, rows: 24, limitBytes: 10_000 })
  for (let i = 0; i < 1000; i++) cast.output(`${i} ${'x'.repeat(100)}\r\n`)
  await cast.close()
  const text = readFileSync(path, 'utf8')
  expect(text.length).toBeLessThan(11_000)
  expect(read(path).at(-1)[2]).toContain('size limit')
})

test('a disk that cannot be written to is a reported problem, not an error', async () => {
  const cast = new Cast(join(dir, 'no', 'such', 'directory', 'x.cast'), { cols: 80, rows: 24 })
  cast.output('lost')
  await cast.close()
  expect(cast.problem).toMatchObject({ code: 'ENOENT' })
})

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
