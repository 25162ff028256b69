import { appendFile, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ledgerFile } from './job-dir.ts'
import { judgeSums, loadSums, openLedger } from './ledger.ts'

const newPath = async () => ledgerFile(await mkdtemp(join(tmpdir(), 'ledger-')))
const usage = { inputTokens: 100, cacheTokens: 40, outputTokens: 10 }
const charge = { model: 'm', usage, costUsd: 0.5, requests: 2 }

test('charges add up per trial and for the job, and survive a restart', async () => {
  const path = await newPath()
  const ledger = await openLedger(path)
  ledger.add('a', charge)
  ledger.add('a', { ...charge, usage: null, costUsd: null, requests: 3 })
  ledger.add('b', { ...charge, costUsd: null })
  ledger.add(null, charge)
  const expected = {
    total: {
      costUsd: 1,
      tokens: 330,
      requests: 9,
      inputTokens: 300,
      cacheTokens: 120,
      outputTokens: 30,
      unpricedCalls: 1,
    },
    a: {
      costUsd: 0.5,
      tokens: 110,
      requests: 5,
      inputTokens: 100,
      cacheTokens: 40,
      outputTokens: 10,
      unpricedCalls: 0,
    },
  }
  expect(ledger.total()).toEqual(expected.total)
  expect(ledger.ofTrial('a')).toEqual(expected.a)
  expect(ledger.ofTrial('nobody').tokens).toBe(0)
  await ledger.close()
  const again = await openLedger(path)
  expect(again.total()).toEqual(expected.total)
  expect(again.ofTrial('a')).toEqual(expected.a)
  await again.close()
})

test("a judge's calls have their own sum besides the total", async () => {
  const path = await newPath()
  const ledger = await openLedger(path)
  ledger.add('a', charge)
  await ledger.flush()
  expect(await judgeSums(dirname(path))).toBeNull()
  ledger.add('a', { ...charge, costUsd: 0.25, requests: 1 }, 'judge')
  expect(ledger.spent()).toMatchObject({ costUsd: 0.75, requests: 3 })
  expect(ledger.ofTrial('a').costUsd).toBe(0.75)
  await ledger.close()
  expect(await loadSums(path)).toMatchObject({ all: { costUsd: 0.75 }, judge: { costUsd: 0.25, requests: 1 } })
})

test('torn and foreign lines lose only themselves', async () => {
  const path = await newPath()
  const ledger = await openLedger(path)
  ledger.add('a', charge)
  await ledger.close()
  await appendFile(path, '{"schema":"other/1"}\nnonsense\n{"schema":"spend/1","at":"2026-01-01T00:0')
  const again = await openLedger(path)
  again.add('a', charge)
  await again.close()
  const last = await openLedger(path)
  expect(last.ofTrial('a').requests).toBe(4)
  await last.close()
})

test('only the time in which the job ran counts', async () => {
  const path = await newPath()
  let now = Date.parse('2026-01-01T00:00:00Z')
  const clock = () => new Date(now)
  const hour = 3_600_000
  const first = await openLedger(path, clock)
  now += hour
  first.add('a', charge)
  await first.close()
  now += 100 * hour
  const second = await openLedger(path, clock)
  expect(second.spent().wallSec).toBe(3600)
  now += 2 * hour
  second.add('a', charge)
  expect(second.spent().wallSec).toBe(3 * 3600)
  await second.close()
  now += hour
  const third = await openLedger(path, clock)
  expect(third.spent().wallSec).toBe(3 * 3600)
  await third.close()
})
