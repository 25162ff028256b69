import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ingest } from '../../src/app/registry/ingest.ts'
import { findLeaders } from '../../src/app/registry/query.ts'
import { onBothDatabases } from '../registry/databases.ts'
import { makeBigJob, trialOf } from '../registry/jobs.ts'

const trials = 50_000
const dir = mkdtempSync(join(tmpdir(), 'ot-registry-scale-'))
let job: string

beforeAll(async () => {
  job = await makeBigJob(join(dir, 'job'), 'big', trials, (i) =>
    trialOf({ task: `t${i % 5000}`, attempt: Math.floor(i / 5000), reward: i % 2 }),
  )
})

afterAll(() => rmSync(dir, { recursive: true, force: true }))

onBothDatabases('fifty thousand trials', (kit) => {
  test('are ingested in memory that does not grow with them', async () => {
    const registry = await kit.fresh()
    global.gc?.()
    const before = process.memoryUsage.rss()
    writeFileSync('/proc/self/clear_refs', '5')
    await ingest({ from: [job], registry })
    const peakKb = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
    // All records together are about 150 MB of text.
    expect(Number(peakKb) * 1024 - before).toBeLessThan(300e6)
    expect(await findLeaders({ registry })).toMatchObject([{ n_trials: trials, n_tasks: 5000, accuracy: 0.5 }])
  })
})
