import { mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { recordsOf } from '../../../test/contracts/trial-store.ts'
import { failed, someRecord } from '../../../test/records.ts'
import { arbitraryTree, readTree, type Tree, tempDir, writeTree } from '../../../test/trees.ts'
import { defaultJobConfig, renderJobConfig } from '../../formats/harbor-job/job-config.ts'
import { renderTrialResult } from '../../formats/harbor-job/trial-result.ts'
import { createJobDir, loadJobDir } from '../job-dir.ts'
import { acquireOwner } from '../job-owner.ts'
import { openTrialStore } from '../open-store.ts'
import { prepareReplacement } from '../replacement.ts'
import { renderTrialRecord } from '../trial-record.ts'
import { packJob } from './pack-job.ts'
import { unpackJob } from './unpack-job.ts'

/** One of our jobs in the Harbor layout, with one trial per artifact tree; the first trial failed once before. */
async function makeJob(jobDir: string, artifacts: readonly Tree[]): Promise<void> {
  const config = defaultJobConfig()
  const lock = { createdAt: '', invocation: null, nConcurrentTrials: 4, retry: config.retry, trials: [] }
  await createJobDir(jobDir, { id: 'job', identity: {}, startedAt: '', layout: 'harbor', config, lock })
  const store = await openTrialStore(jobDir, 'harbor')
  for (const [i, tree] of artifacts.entries()) {
    const record = someRecord({ name: `trial-${i}`, id: `id-${i}` })
    if (i === 0) {
      await store.begin(record.config)
      await store.keepFailedTry(record.name, 1, { ...record, end: failed() })
    }
    const dir = await store.begin(record.config)
    await writeTree(join(dir, 'artifacts'), tree)
    await store.commit(record)
  }
  await writeFile(join(jobDir, 'job.log'), 'a line\n')
}

/** Everything a reader sees, whichever way the job is laid out. */
async function ids(jobDir: string): Promise<string[]> {
  const { layout } = await loadJobDir(jobDir)
  const store = await openTrialStore(jobDir, layout)
  return (await recordsOf(store)).map(({ id }) => id)
}

const withoutLayout = ({ 'job.json': _, ...tree }: Tree): Tree => tree
const few: Tree[] = [{ x: { content: 'x', mode: 0o755 } }, {}, { 'deep/er': { dir: true }, l: { link: 'deep' } }]

test('any job comes back from packing with every file as it was', async () => {
  const dir = await tempDir()
  let run = 0
  await fc.assert(
    fc.asyncProperty(fc.array(arbitraryTree, { maxLength: 4 }), async (trees) => {
      const jobDir = join(dir, String(run++))
      await makeJob(jobDir, trees)
      const before = await readTree(jobDir)
      expect(await packJob(jobDir)).toMatchObject({ trials: trees.length, leftAlone: [] })
      expect((await readdir(jobDir)).sort()).toEqual(['config.json', 'job.json', 'job.log', 'lock.json', 'packed'])
      expect(await ids(jobDir)).toEqual(trees.map((_, i) => `id-${i}`))
      expect(await unpackJob(jobDir)).toEqual({ trials: trees.length, droppedLinks: 0 })
      expect(await readTree(jobDir)).toEqual(before)
    }),
    { numRuns: 12 },
  )
})

test('a job that ran packed comes out as directories that the Harbor layout reads, and goes back', async () => {
  const jobDir = await tempDir()
  await rm(jobDir, { recursive: true })
  await makeJob(jobDir, [])
  await packJob(jobDir)
  const store = await openTrialStore(jobDir, 'packed')
  const record = someRecord()
  await store.begin(record.config)
  await store.keepFailedTry(record.name, 1, { ...record, end: failed() })
  await store.begin(record.config)
  await store.commit(record)
  await store.begin(someRecord({ name: 'unfinished' }).config)
  await store.keepFailedTry('unfinished', 1, someRecord({ name: 'unfinished', end: failed() }))
  await store.close()
  await unpackJob(jobDir)
  expect(await recordsOf(await openTrialStore(jobDir, 'harbor'))).toEqual([record])
  const names = await Promise.all(
    [record.name, 'unfinished'].map(async (name) => (await readdir(join(jobDir, name))).sort()),
  )
  expect(names).toEqual([
    ['agent', 'artifacts', 'config.json', 'failed-1.tar.gz', 'record.json', 'result.json', 'verifier'],
    ['failed-1.tar.gz'],
  ])
  const before = await readTree(jobDir)
  await packJob(jobDir)
  await unpackJob(jobDir)
  expect(withoutLayout(await readTree(jobDir))).toEqual(withoutLayout(before))
})

test('interrupted at any trial, in either direction, the job is whole, and the same call finishes', async () => {
  const jobDir = join(await tempDir(), 'job')
  await makeJob(jobDir, [...few, ...few])
  const [before, all] = [await readTree(jobDir), await ids(jobDir)]
  const interruptions = [
    [packJob, [1, 2, 6]],
    [unpackJob, [1, 1]],
  ] as const
  for (const [convert, stops] of interruptions) {
    for (const stopAt of stops) {
      const onProgress = (done: number) => {
        if (done === stopAt) throw new Error('power cut')
      }
      await expect(convert(jobDir, { onProgress })).rejects.toThrow('power cut')
      expect(await ids(jobDir)).toEqual(all)
    }
    await convert(jobDir)
    expect(await ids(jobDir)).toEqual(all)
  }
  expect(await readTree(jobDir)).toEqual(before)
})

test('resumes after an interruption between the steps of a conversion', async () => {
  const jobDir = join(await tempDir(), 'job')
  await makeJob(jobDir, few)
  const before = await readTree(jobDir)
  // Packed and named, but the job does not say so yet.
  await packJob(jobDir)
  const packed = await readTree(join(jobDir, 'packed'))
  await unpackJob(jobDir)
  await writeTree(join(jobDir, 'packed'), packed)
  expect(await ids(jobDir)).toHaveLength(3)
  await packJob(jobDir)
  expect(await ids(jobDir)).toHaveLength(3)
  // Packed, and the job says so, but some directories remain.
  await writeTree(jobDir, Object.fromEntries(Object.entries(before).filter(([path]) => path.startsWith('trial-'))))
  expect(await packJob(jobDir)).toMatchObject({ trials: 3, leftAlone: [] })
  expect((await readdir(jobDir)).filter((name) => name.startsWith('trial-'))).toEqual([])
  // Unpacked, and the job says so, but the packed files remain.
  await unpackJob(jobDir)
  await writeTree(join(jobDir, 'packed'), packed)
  await unpackJob(jobDir)
  expect(await readTree(jobDir)).toEqual(before)
})

test('packs what is finished, leaves the rest alone and says so', async () => {
  const jobDir = join(await tempDir(), 'job')
  await makeJob(jobDir, few)
  await writeTree(join(jobDir, 'half'), { 'trial.log': { content: 'so far', mode: 0o644 } })
  expect(await packJob(jobDir)).toMatchObject({
    trials: 3,
    leftAlone: [{ trial: 'half', reason: 'it is not finished' }],
  })
  expect(await readFile(join(jobDir, 'half/trial.log'), 'utf8')).toBe('so far')
})

test('a trial that was run again between two interrupted packings is packed as it is now', async () => {
  const jobDir = join(await tempDir(), 'job')
  await makeJob(jobDir, few)
  const stop = () => {
    throw new Error('power cut')
  }
  await expect(packJob(jobDir, { onProgress: stop })).rejects.toThrow('power cut')
  await writeFile(join(jobDir, 'trial-0/agent/new'), 'new')
  await rm(join(jobDir, 'trial-1'), { recursive: true })
  await packJob(jobDir)
  await unpackJob(jobDir)
  expect((await readdir(jobDir)).filter((name) => name.startsWith('trial-'))).toEqual(['trial-0', 'trial-2'])
  expect(await readFile(join(jobDir, 'trial-0/agent/new'), 'utf8')).toBe('new')
})

test('finishes what a killed process had begun to replace before it packs the trial', async () => {
  const jobDir = join(await tempDir(), 'job')
  await makeJob(jobDir, few)
  const anew = someRecord({ name: 'trial-1', id: 'new' })
  const dir = join(jobDir, 'trial-1')
  await writeTree(join(dir, 'verifier'), { 'reward.txt': { content: '0', mode: 0o644 } })
  await prepareReplacement(dir, join(jobDir, 'nothing'), renderTrialRecord(anew, {}))
  await writeTree(join(dir, '.replacement/verifier'), { 'reward.txt': { content: '1', mode: 0o644 } })
  await writeFile(join(dir, 'result.json'), renderTrialResult(anew, {}))
  expect(await packJob(jobDir)).toMatchObject({ trials: 3, leftAlone: [] })
  await unpackJob(jobDir)
  expect(await readdir(dir)).not.toContain('.replacement')
  expect(await readFile(join(dir, 'verifier/reward.txt'), 'utf8')).toBe('1')
  expect(JSON.parse(await readFile(join(dir, 'record.json'), 'utf8')).id).toBe('new')
  expect((await ids(jobDir)).sort()).toEqual(['id-0', 'id-2', 'new'])
})

test('converts a job that Harbor made, whose layout no file of ours tells, and adds nothing to it', async () => {
  const jobDir = join(await tempDir(), 'job')
  await makeJob(jobDir, few)
  for (const file of ['job.json', 'trial-0/record.json', 'trial-1/record.json', 'trial-2/record.json'])
    await rm(join(jobDir, file))
  await writeFile(join(jobDir, 'config.json'), renderJobConfig(defaultJobConfig()))
  const before = await readTree(jobDir)
  await packJob(jobDir)
  expect((await loadJobDir(jobDir)).layout).toBe('packed')
  expect(await ids(jobDir)).toHaveLength(3)
  await unpackJob(jobDir)
  expect(await readTree(jobDir)).toEqual(before)
})

test('a link that leads out of its trial is packed as it is, and not made again', async () => {
  const jobDir = join(await tempDir(), 'job')
  await makeJob(jobDir, few)
  await symlink('/etc/passwd', join(jobDir, 'trial-1/agent/out'))
  expect(await packJob(jobDir)).toMatchObject({ trials: 3, leftAlone: [] })
  expect(await unpackJob(jobDir)).toEqual({ trials: 3, droppedLinks: 1 })
  expect(await readdir(join(jobDir, 'trial-1/agent'))).toEqual([])
})

test('does not unpack over a directory that is something else', async () => {
  const jobDir = join(await tempDir(), 'job')
  await makeJob(jobDir, few)
  await packJob(jobDir)
  await writeTree(join(jobDir, 'trial-1'), { 'result.json': { content: '{}', mode: 0o644 } })
  await expect(unpackJob(jobDir)).rejects.toThrow('trial-1 exists and differs from what is packed under that name')
  await mkdir(join(jobDir, 'aside'))
  await rm(join(jobDir, 'trial-1'), { recursive: true })
  await unpackJob(jobDir)
  expect(await ids(jobDir)).toHaveLength(3)
})

test('touches no job that a live process runs', async () => {
  const jobDir = join(await tempDir(), 'job')
  await makeJob(jobDir, few)
  const releaseOwner = await acquireOwner(jobDir)
  const before = await readTree(jobDir)
  await expect(packJob(jobDir)).rejects.toThrow('is already running this job')
  await expect(unpackJob(jobDir)).rejects.toThrow('is already running this job')
  expect(await readTree(jobDir)).toEqual(before)
  await releaseOwner()
})
