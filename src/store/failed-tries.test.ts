import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseTrajectory } from '../../test/parse-trajectory.ts'
import { someRecord } from '../../test/records.ts'
import { journalName } from '../core/task-paths.ts'
import { openJournal } from '../formats/atif/journal.ts'
import { atifVersion } from '../formats/atif/trajectory.ts'
import { listFailedTries } from './failed-tries.ts'
import { openHarborLayout } from './harbor-layout.ts'

const file = 'trajectory.json'

/** A trial whose agent is still writing because it ignored its time limit or died. */
async function halfDone(folder = 'agent') {
  const store = openHarborLayout(mkdtempSync(join(tmpdir(), 'interrupted-')), {})
  const record = someRecord()
  const dir = await store.begin(record.config)
  const journal = await openJournal(join(dir, folder), (text) => text)
  const head = { schema_version: atifVersion, session_id: 's', agent: { name: 'a', version: '1' } } as const
  journal.add({ kind: 'open', file, head })
  journal.add({ kind: 'step', file, step: { source: 'user', message: 'do it' } })
  const path = join(dir, folder, journalName)
  while (!readFileSync(path, 'utf8').includes('do it')) await new Promise((later) => setTimeout(later, 5))
  return { store, record, dir }
}

test.each(['agent', 'steps/one/agent'])(
  'a trial that ends has a whole trajectory in %s, whoever was writing it',
  async (folder) => {
    const { store, record, dir } = await halfDone(folder)
    await store.commit(record)
    const { steps, notes } = parseTrajectory(readFileSync(join(dir, folder, file), 'utf8'))
    expect([steps.length, notes]).toEqual([1, expect.stringContaining('interrupted')])
    expect(existsSync(join(dir, folder, journalName))).toBe(false)
  },
)

test('a try that died while its agent talked is set aside when the trial begins again', async () => {
  const { store, record, dir } = await halfDone()
  await store.begin(record.config)
  expect(await listFailedTries(dir)).toEqual([1])
  expect(existsSync(join(dir, 'agent'))).toBe(false)
  await store.begin(record.config)
  expect(await listFailedTries(dir)).toEqual([1])
})

test('a journal that cannot be read is left as it is', async () => {
  const { store, record, dir } = await halfDone()
  await writeFile(join(dir, 'agent', journalName), `${JSON.stringify({ kind: 'close', file, tail: {} })}\n`)
  await store.commit(record)
  expect(existsSync(join(dir, 'agent', journalName))).toBe(true)
  expect(existsSync(join(dir, 'result.json'))).toBe(true)
})
