import { execFileSync } from 'node:child_process'
import disk from 'node:fs'
import fs, { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { clientThat, replies } from '../../test/fakes/told-client.ts'
import { failed, someRecord, someTrialConfig } from '../../test/records.ts'
import type { TrialRecord } from '../core/trial.ts'
import { openExchangeFiles } from './exchange-files.ts'
import { openHarborLayout } from './harbor-layout.ts'
import { openForReading } from './trial-files.ts'
import { idIn } from './trial-record.ts'
import type { TrialStore } from './trial-store.ts'

let jobDir: string
let store: TrialStore
beforeEach(async () => {
  jobDir = await mkdtemp(join(tmpdir(), 'ot-layout-'))
  store = openHarborLayout(jobDir, {})
})
afterEach(() => rm(jobDir, { recursive: true, force: true }))

const recordsOf = async (of: TrialStore): Promise<TrialRecord[]> => {
  const records: TrialRecord[] = []
  for await (const record of of.records()) records.push(record)
  return records
}
const finish = async (record: TrialRecord) => {
  const dir = await store.begin(record.config)
  await mkdir(join(dir, 'agent'))
  await writeFile(join(dir, 'agent', 'log.txt'), `of ${record.id}`)
  await store.commit(record)
  return dir
}
const contents = (file: string) => execFileSync('tar', ['tzf', file], { encoding: 'utf8' }).trim().split('\n').sort()

test('a trial begins as a directory with its config and is no record yet', async () => {
  const dir = await store.begin(someTrialConfig())
  expect(await readdir(dir)).toEqual(['config.json'])
  expect(JSON.parse(await readFile(join(dir, 'config.json'), 'utf8')).trial_name).toBe('hello__AbC23de')
  expect(await recordsOf(store)).toEqual([])
})

test("a committed trial reads back unchanged, in Harbor's layout", async () => {
  const record = someRecord({ retries: 2, attempt: 1, bothRewardFiles: true })
  const dir = await finish(record)
  expect((await readdir(dir)).sort()).toEqual([
    'agent',
    'artifacts',
    'config.json',
    'record.json',
    'result.json',
    'verifier',
  ])
  expect(await recordsOf(store)).toEqual([record])
})

test('a trial that failed has its traceback beside it', async () => {
  const dir = await finish(someRecord({ end: failed({ stack: 'BuildError: no\n    at build' }) }))
  expect(await readFile(join(dir, 'exception.txt'), 'utf8')).toBe('BuildError: no\n    at build')
})

test('empty directories of a multi-step trial are removed, the others stay', async () => {
  const record = someRecord({ steps: [] })
  const dir = await store.begin(record.config)
  for (const name of ['agent', 'verifier', 'artifacts', 'steps/one/agent'])
    await mkdir(join(dir, name), { recursive: true })
  await writeFile(join(dir, 'artifacts', 'kept'), '')
  await store.commit(record)
  expect((await readdir(dir)).sort()).toEqual(['artifacts', 'config.json', 'record.json', 'result.json', 'steps'])
})

describe('what a crash can leave', () => {
  test('beginning again discards leftovers of the same trial', async () => {
    const dir = await store.begin(someTrialConfig())
    await writeFile(join(dir, 'trial.log'), 'half')
    await writeFile(join(dir, 'record.json'), '{')
    expect(await readdir(await store.begin(someTrialConfig()))).toEqual(['config.json'])
  })

  test.each(['', '{"id": "7ab9', '[]', '{}', 'null'])('a result that says %j is an unfinished trial', async (text) => {
    const dir = await finish(someRecord())
    await writeFile(join(dir, 'result.json'), text)
    expect(await recordsOf(store)).toEqual([])
  })

  test.each(['', '{"schema": "trial/1"', '{"schema": "trial/9"}'])(
    'a record that says %j gives way to the result',
    async (text) => {
      const dir = await finish(someRecord({ attempt: 3 }))
      await writeFile(join(dir, 'record.json'), text)
      expect(await recordsOf(store)).toMatchObject([{ id: someRecord().id, end: someRecord().end, attempt: 0 }])
    },
  )

  test('a record of another run than the result is not believed', async () => {
    const dir = await finish(someRecord())
    await writeFile(join(dir, 'record.json'), JSON.stringify(someRecord({ id: 'other', retries: 9 })))
    expect(await recordsOf(store)).toMatchObject([{ id: someRecord().id, retries: 0 }])
  })
})

describe('tries put aside', () => {
  test('a failed try becomes one archive that no reader sees', async () => {
    const record = someRecord({ end: failed() })
    const dir = await store.begin(record.config)
    await mkdir(join(dir, 'agent'))
    await writeFile(join(dir, 'agent', 'log.txt'), 'first')
    await store.keepFailedTry(record.name, 1, record)
    expect(await readdir(dir)).toEqual(['failed-1.tar.gz'])
    expect(contents(join(dir, 'failed-1.tar.gz'))).toEqual([
      'agent/',
      'agent/log.txt',
      'config.json',
      'exception.txt',
      'record.json',
    ])
    expect(await recordsOf(store)).toEqual([])
  })

  test('it survives the next try, and a number already taken is not taken again', async () => {
    const record = someRecord({ end: failed() })
    for (const nth of [1, 1]) {
      await store.begin(record.config)
      await store.keepFailedTry(record.name, nth, record)
    }
    const dir = await finish(someRecord())
    expect((await readdir(dir)).filter((name) => name.startsWith('failed')).sort()).toEqual([
      'failed-1.tar.gz',
      'failed-2.tar.gz',
    ])
    expect(contents(join(dir, 'failed-2.tar.gz'))).not.toContain('failed-1.tar.gz')
  })

  test('a retracted trial is unfinished and its files are kept', async () => {
    const dir = await finish(someRecord())
    await store.retract('hello__AbC23de')
    expect(await readdir(dir)).toEqual(['failed-1.tar.gz'])
    expect(contents(join(dir, 'failed-1.tar.gz'))).toContain('result.json')
    expect(await recordsOf(store)).toEqual([])
    await expect(store.retract('hello__AbC23de')).rejects.toThrow('has no finished trial "hello__AbC23de"')
  })

  test('logs their owner may not read are kept all the same', async () => {
    const record = someRecord({ end: failed() })
    const dir = await store.begin(record.config)
    await writeFile(join(dir, 'secretive.log'), 'x')
    await chmod(join(dir, 'secretive.log'), 0)
    await store.keepFailedTry(record.name, 1, record)
    expect(contents(join(dir, 'failed-1.tar.gz'))).toContain('secretive.log')
  })
})

test('an opened trial is its directory; one that is not finished cannot be opened', async () => {
  const dir = await finish(someRecord())
  await using trial = await store.open('hello__AbC23de')
  expect(trial.dir).toBe(dir)
  await expect(store.open('other')).rejects.toThrow(/has no finished trial "other"/)
})

test.each(['../x', '', '.', '..', 'a/b', '.hidden'])('%j is not a trial name', async (name) => {
  await expect(async () => store.open(name)).rejects.toThrow('expected the name of a trial')
})

test('directories Harbor made are read, and its files stay as they are', async () => {
  await cp(new URL('../../test/fixtures/harbor-job/made-by-harbor', import.meta.url), jobDir, { recursive: true })
  const ends = (await recordsOf(store)).map(({ name, end }) => [name, end.kind])
  expect(Object.fromEntries(ends)).toEqual({
    hello__AbC23de: 'scored',
    hello__Timeou2: 'scored',
    heap__NoStart3: 'failed',
    heap__Cancel44: 'cancelled',
  })
})

test('no secret reaches the disk', async () => {
  const config = someTrialConfig()
  const secretive = {
    ...config,
    agent: { ...config.agent, env: { MY_API_KEY: 'abcdefghijkl' }, kwargs: { api_key: 'mnopqrstuvwx' } },
  }
  const dir = await finish(someRecord({ config: secretive }))
  for (const name of ['config.json', 'record.json', 'result.json']) {
    expect(await readFile(join(dir, name), 'utf8')).not.toMatch(/abcdefghijkl|mnopqrstuvwx/)
  }
})

test('a retracted trial is not mistaken for an interrupted one when some files could not be removed', async () => {
  const agentDir = join(await store.begin(someTrialConfig()), 'agent')
  await mkdir(agentDir)
  const files = openExchangeFiles(String, () => {})
  const client = files.recorded(clientThat(replies('hello')), agentDir)
  await client.complete({ messages: [{ role: 'user', content: 'say' }] })
  await files.close()
  await store.commit(someRecord({ end: failed() }))
  const removing = fs.rm
  fs.rm = async (path, options) => {
    if (path === agentDir) throw new Error('killed')
    return removing(path, options)
  }
  syncBuiltinESMExports()
  try {
    await expect(store.retract('hello__AbC23de')).rejects.toThrow('killed')
  } finally {
    fs.rm = removing
    syncBuiltinESMExports()
  }
  const again = openHarborLayout(jobDir, {})
  expect(await recordsOf(again)).toEqual([])
  const dir = await again.begin(someTrialConfig())
  expect(await again.tapeOf('hello__AbC23de')).toBe(null)
  expect((await readdir(dir)).sort()).toEqual(['config.json', 'failed-1.tar.gz'])
})

describe('a process that is killed while it gives a trial another record', () => {
  const { rm: removing, rename: renaming } = fs
  const { renameSync } = disk
  const setCalls = (rm: typeof fs.rm, rename: typeof fs.rename, now: typeof disk.renameSync) => {
    Object.assign(fs, { rm, rename })
    disk.renameSync = now
    syncBuiltinESMExports()
  }
  /** From the given number of changing calls on, none has an effect. */
  const dieAfter = (calls: number) => {
    let left = calls
    const unlessDead = <T>(call: () => T): T => {
      if (left-- <= 0) throw new Error('killed')
      return call()
    }
    setCalls(
      async (...args) => unlessDead(() => removing(...args)),
      async (...args) => unlessDead(() => renaming(...args)),
      (...args) => unlessDead(() => renameSync(...args)),
    )
  }
  afterEach(() => setCalls(removing, renaming, renameSync))

  /** The verification files among those a reader gets. */
  const filesOf = async (name: string) => {
    await using open = await openHarborLayout(jobDir, {}).open(name)
    const text = (path: string) => readFile(join(open.dir, path), 'utf8').catch(() => null)
    const id = JSON.parse((await text('result.json')) ?? '').id
    return { id, reward: await text('verifier/reward.txt'), exception: await text('exception.txt') }
  }
  const readReward = async (name: string) => {
    const read = await openForReading(jobDir, 'harbor')
    const files = await read.readFiles(name, (folder) => (folder === 'verifier' ? 100 : null))
    return files.map(({ bytes }) => Buffer.from(bytes).toString())
  }

  test.each([
    { before: 'no way', after: null },
    { before: null, after: 'no way' },
    { before: 'no way', after: 'no luck' },
  ])('leaves the old one or the new one whole, and the next finishes it ($before, $after)', async (stacks) => {
    const from = join(jobDir, '.from')
    await mkdir(join(from, 'verifier'), { recursive: true })
    await writeFile(join(from, 'verifier/reward.txt'), '1')
    const recordOf = (id: string, stack: string | null) =>
      someRecord({ id, retries: 2, ...(stack === null ? {} : { end: failed({ stack }) }) })
    const [old, anew, newer] = [recordOf('old', stacks.before), recordOf('new', stacks.after), recordOf('newer', null)]
    const seen = new Set<string>()
    for (let calls = 0, died = true; died; calls++) {
      await rm(join(jobDir, old.name), { recursive: true, force: true })
      const dir = await store.begin(old.config)
      await mkdir(join(dir, 'verifier'))
      await writeFile(join(dir, 'verifier/reward.txt'), '0')
      await store.commit(old)
      dieAfter(calls)
      died = await store.replace(anew, from).then(
        () => false,
        () => true,
      )
      setCalls(removing, renaming, renameSync)
      const [found, ...others] = await recordsOf(openHarborLayout(jobDir, {}))
      seen.add(found?.id ?? '')
      // Harbor's tools read this file.
      expect(idIn(await readFile(join(dir, 'result.json'), 'utf8'))).toBe(found?.id)
      expect([[old], [anew]]).toContainEqual([found, ...others])
      const [id, reward, exception] = found?.id === 'old' ? ['old', '0', stacks.before] : ['new', '1', stacks.after]
      expect(await filesOf(old.name)).toEqual({ id, reward, exception })
      expect(await readReward(old.name)).toEqual([reward])
      await store.replace(newer, from)
      expect(await recordsOf(store)).toEqual([newer])
      expect(await filesOf(old.name)).toEqual({ id: 'newer', reward: '1', exception: null })
      expect(await readdir(dir)).not.toContain('.replacement')
    }
    expect([...seen]).toEqual(['old', 'new'])
  })

  test('a trial whose record of ours is broken can be replaced and retracted', async () => {
    const record = someRecord()
    const dir = await finish(record)
    await writeFile(join(dir, 'record.json'), '{')
    await store.replace({ ...record, id: 'new' }, join(jobDir, '.nothing'))
    expect(await recordsOf(store)).toEqual([{ ...record, id: 'new' }])
    await writeFile(join(dir, 'record.json'), '{')
    await store.retract(record.name)
    expect(await recordsOf(store)).toEqual([])
  })
})
