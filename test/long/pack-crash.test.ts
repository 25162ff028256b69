import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { defaultJobConfig } from '../../src/formats/harbor-job/job-config.ts'
import { createJobDir, loadJobDir } from '../../src/store/job-dir.ts'
import { openTrialStore } from '../../src/store/open-store.ts'
import { recordsOf } from '../contracts/trial-store.ts'
import { failed, someRecord } from '../records.ts'
import { readTree, tempDir } from '../trees.ts'

const trials = 200
const killsEachWay = 10
/** A process killed while writing a hidden file leaves it behind; every reader ignores it. */
const halfWritten = /^\.(owner-)?[^/]*\.(tmp|json)$/

test(`jobs pack and jobs unpack killed ${killsEachWay} times each at random moments lose nothing`, async () => {
  const jobDir = join(await tempDir(), 'job')
  await makeJob(jobDir)
  const [before, all] = [await readTree(jobDir), await ids(jobDir)]
  for (const command of ['pack', 'unpack']) {
    const moments: number[] = []
    while (moments.length < killsEachWay) {
      // Node takes a while to start; most kills should come after that.
      const ms = Math.round(100 + Math.random() * 2500)
      moments.push(ms)
      await killedAfter(ms, command, jobDir)
      expect(await ids(jobDir), `${command} killed after ${moments.join(', ')} ms`).toEqual(all)
    }
    expect(await finished(command, jobDir)).toBe(0)
    expect(await ids(jobDir)).toEqual(all)
  }
  const after = Object.entries(await readTree(jobDir)).filter(([path]) => !halfWritten.test(path))
  expect(after.map(([path]) => path).filter((path) => !(path in before))).toEqual([])
  expect(Object.fromEntries(after)).toEqual(before)
})

async function makeJob(jobDir: string): Promise<void> {
  const config = defaultJobConfig()
  const lock = { createdAt: '', invocation: null, nConcurrentTrials: 4, retry: config.retry, trials: [] }
  await createJobDir(jobDir, { id: 'job', identity: {}, startedAt: '', layout: 'harbor', config, lock })
  const store = await openTrialStore(jobDir, 'harbor')
  for (let i = 0; i < trials; i++) {
    const record = someRecord({ name: `trial-${String(i).padStart(3, '0')}`, id: `id-${i}` })
    if (i % 10 === 0) {
      await store.begin(record.config)
      await store.keepFailedTry(record.name, 1, { ...record, end: failed() })
    }
    const dir = await store.begin(record.config)
    await mkdir(join(dir, 'agent'))
    for (let file = 0; file < 5; file++) await writeFile(join(dir, 'agent', `log-${file}`), `${i} `.repeat(500 * file))
    await store.commit(record)
  }
}

/** What a reader sees at this moment. */
async function ids(jobDir: string): Promise<string[]> {
  const store = await openTrialStore(jobDir, (await loadJobDir(jobDir)).layout)
  return (await recordsOf(store)).map(({ id }) => id)
}

function start(command: string, jobDir: string) {
  return spawn(process.execPath, [resolve('bin/ot-agent.js'), 'jobs', command, jobDir], { stdio: 'ignore' })
}

async function killedAfter(ms: number, command: string, jobDir: string): Promise<void> {
  const child = start(command, jobDir)
  const exit = once(child, 'exit')
  await Promise.race([wait(ms), exit])
  child.kill('SIGKILL')
  await exit
}

async function finished(command: string, jobDir: string): Promise<number | null> {
  const [code] = (await once(start(command, jobDir), 'exit')) as [number | null]
  return code
}
