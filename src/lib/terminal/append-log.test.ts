import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { AppendLog } from './append-log.ts'

const limits = { bytes: 10, notice: '<cut>' }
const newPath = () => join(mkdtempSync(join(tmpdir(), 'ot-log-')), 'log')

test('a full log says so once and accepts no more', async () => {
  const path = newPath()
  const log = new AppendLog(path, limits)
  for (const text of ['12345', '67890', 'a', 'b']) log.append(text)
  await log.close()
  expect(readFileSync(path, 'utf8')).toBe('1234567890<cut>')
})

test('text that arrives while the log is being closed does not reopen the file', async () => {
  const path = newPath()
  const log = new AppendLog(path, limits)
  log.append('in time')
  const closed = log.close()
  log.append('!')
  await closed
  // Longer than text is buffered.
  await new Promise((done) => setTimeout(done, 300))
  expect(readFileSync(path, 'utf8')).toBe('in time')
})

test('a write error is remembered', async () => {
  const log = new AppendLog(join(newPath(), 'no', 'directory'), limits)
  log.append('lost')
  await log.close()
  expect(log.problem?.message).toContain('ENOENT')
})
