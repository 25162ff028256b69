import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { TrialRecord } from '../../src/core/trial.ts'
import { openExchangeFiles } from '../../src/store/exchange-files.ts'
import type { TrialStore } from '../../src/store/trial-store.ts'
import { clientThat, replies } from '../fakes/told-client.ts'
import { failed, someRecord, someTrialConfig } from '../records.ts'
import { readTree, tempDir } from '../trees.ts'

/** Every finished trial of a store, by name; both ways of reading must agree. */
export async function recordsOf(store: TrialStore): Promise<TrialRecord[]> {
  const records: TrialRecord[] = []
  for await (const record of store.records()) records.push(record)
  const batched: TrialRecord[] = []
  for await (const batch of store.batches()) batched.push(...batch)
  const byName = (a: TrialRecord, b: TrialRecord) => (a.name < b.name ? -1 : 1)
  expect(batched.sort(byName)).toEqual(records.sort(byName))
  return records
}

/** Runs a trial in a store, with a log that identifies it. */
export async function finish(store: TrialStore, record: TrialRecord): Promise<void> {
  const dir = await store.begin(record.config)
  await mkdir(join(dir, 'agent'), { recursive: true })
  await writeFile(join(dir, 'agent/log.txt'), `of ${record.id}`)
  await store.commit(record)
}

/** The laws of a trial store, for any way of opening one on a job's directory. */
export function trialStoreLaws(name: string, open: (jobDir: string) => Promise<TrialStore>): void {
  describe(`a trial store, ${name}`, () => {
    test('knows nothing in an empty job', async () => {
      const store = await open(await tempDir())
      expect(await recordsOf(store)).toEqual([])
      await store.close()
    })

    test('gives a trial that begins a directory with its config and nothing else', async () => {
      const store = await open(await tempDir())
      const dir = await store.begin(someTrialConfig())
      expect(await readdir(dir)).toEqual(['config.json'])
      await writeFile(join(dir, 'trial.log'), 'half')
      expect(await readdir(await store.begin(someTrialConfig()))).toEqual(['config.json'])
      expect(await recordsOf(store)).toEqual([])
      await store.close()
    })

    test('gives back the record of a committed trial, now and when it is opened again', async () => {
      const jobDir = await tempDir()
      const record = someRecord({ retries: 2, attempt: 1, bothRewardFiles: true })
      const store = await open(jobDir)
      await finish(store, record)
      expect(await recordsOf(store)).toEqual([record])
      await store.close()
      const again = await open(jobDir)
      expect(await recordsOf(again)).toEqual([record])
      await again.close()
    })

    test('gives back the files of a committed trial: bytes, modes, links, empty directories, strange names', async () => {
      const store = await open(await tempDir())
      const dir = await store.begin(someTrialConfig())
      await mkdir(join(dir, 'artifacts/deep/empty'), { recursive: true })
      await writeFile(join(dir, 'artifacts/back\\slash ☃'), Buffer.from([0, 255, 10]))
      await writeFile(join(dir, 'artifacts/tool'), '#!')
      await chmod(join(dir, 'artifacts/tool'), 0o751)
      await symlink('tool', join(dir, 'artifacts/also'))
      await store.commit(someRecord())
      await using opened = await store.open('hello__AbC23de')
      expect(await readTree(join(opened.dir, 'artifacts'))).toEqual({
        'deep/empty': { dir: true },
        'back\\slash ☃': { content: '\x00\xff\n', mode: 0o644 },
        tool: { content: '#!', mode: 0o751 },
        also: { link: 'tool' },
      })
      expect((await readdir(opened.dir)).sort()).toEqual([
        'agent',
        'artifacts',
        'config.json',
        'record.json',
        'result.json',
        'verifier',
      ])
      await store.close()
    })

    test('keeps a failed try out of sight, beside the trial that followed', async () => {
      const store = await open(await tempDir())
      const record = someRecord({ end: failed() })
      for (const nth of [1, 2]) {
        const dir = await store.begin(record.config)
        await writeFile(join(dir, 'trial.log'), `try ${nth}`)
        await store.keepFailedTry(record.name, nth, record)
      }
      expect(await recordsOf(store)).toEqual([])
      await finish(store, someRecord({ retries: 2 }))
      expect(await recordsOf(store)).toMatchObject([{ retries: 2, end: { kind: 'scored' } }])
      await using opened = await store.open(record.name)
      const tries = (await readdir(opened.dir)).filter((file) => file.startsWith('failed')).sort()
      expect(tries).toEqual(['failed-1.tar.gz', 'failed-2.tar.gz'])
      await store.close()
    })

    test('takes a finished trial back and keeps its files aside, as often as it is asked', async () => {
      const jobDir = await tempDir()
      const store = await open(jobDir)
      for (const id of ['one', 'two']) {
        await finish(store, someRecord({ id }))
        await store.retract('hello__AbC23de')
        expect(await recordsOf(store)).toEqual([])
      }
      await expect(store.retract('hello__AbC23de')).rejects.toThrow('has no finished trial "hello__AbC23de"')
      await finish(store, someRecord({ id: 'three' }))
      await store.close()
      const again = await open(jobDir)
      expect(await recordsOf(again)).toEqual([someRecord({ id: 'three' })])
      await using opened = await again.open('hello__AbC23de')
      expect(await readFile(join(opened.dir, 'agent/log.txt'), 'utf8')).toBe('of three')
      expect((await readdir(opened.dir)).filter((file) => file.startsWith('failed'))).toHaveLength(2)
      await again.close()
    })

    test('gives a finished trial another record and keeps what it had aside', async () => {
      const [jobDir, from] = [await tempDir(), await tempDir()]
      await mkdir(join(from, 'verifier'))
      await writeFile(join(from, 'verifier/reward.txt'), 'new')
      await writeFile(join(from, 'trial.log'), 'new')
      const store = await open(jobDir)
      await expect(store.replace(someRecord(), from)).rejects.toThrow('has no finished trial "hello__AbC23de"')
      const dir = await store.begin(someTrialConfig())
      await mkdir(join(dir, 'verifier'))
      await writeFile(join(dir, 'verifier/old.txt'), 'old')
      await mkdir(join(dir, 'agent'))
      await writeFile(join(dir, 'agent/log.txt'), 'of old')
      await store.commit(someRecord({ id: 'old', end: failed() }))
      for (const id of ['new', 'newer']) await store.replace(someRecord({ id }), from)
      await store.close()
      const again = await open(jobDir)
      expect(await recordsOf(again)).toEqual([someRecord({ id: 'newer' })])
      await using opened = await again.open('hello__AbC23de')
      expect((await readdir(opened.dir)).sort()).toEqual([
        ...['agent', 'artifacts', 'config.json', 'failed-1.tar.gz', 'failed-2.tar.gz'],
        ...['record.json', 'result.json', 'trial.log', 'verifier'],
      ])
      expect(await readdir(join(opened.dir, 'verifier'))).toEqual(['reward.txt'])
      expect(await readFile(join(opened.dir, 'agent/log.txt'), 'utf8')).toBe('of old')
      await again.close()
    })

    test('loses no trial when another record cannot be written', async () => {
      const [jobDir, from] = [await tempDir(), await tempDir()]
      const store = await open(jobDir)
      await finish(store, someRecord({ id: 'old' }))
      // A socket cannot be copied.
      const server = createServer().listen(join(from, 'trial.log'))
      await expect(store.replace(someRecord({ id: 'new' }), from)).rejects.toThrow()
      server.close()
      await store.close()
      expect(await recordsOf(await open(jobDir))).toEqual([someRecord({ id: 'old' })])
    })

    test('keeps many trials that end at once apart', async () => {
      const store = await open(await tempDir())
      const records = Array.from({ length: 40 }, (_, i) =>
        someRecord({ name: `trial-${String(i).padStart(2, '0')}`, id: `id-${i}` }),
      )
      await Promise.all(records.map((record) => finish(store, record)))
      expect(await recordsOf(store)).toEqual(records)
      await using opened = await store.open('trial-17')
      expect(await readFile(join(opened.dir, 'agent/log.txt'), 'utf8')).toBe('of id-17')
      await store.close()
    })

    test('keeps what an interrupted attempt was told until its trial has ended, and forgets it then', async () => {
      const jobDir = await tempDir()
      const turnsOf = async (store: TrialStore) =>
        [...((await store.tapeOf('hello__AbC23de'))?.rounds ?? [])].map(([step, { turns }]) => [step, turns.length])
      const told = async (store: TrialStore, turns: number, step?: string) => {
        const dir = join(await store.begin(someTrialConfig()), ...(step === undefined ? [] : ['steps', step]), 'agent')
        await mkdir(dir, { recursive: true })
        const files = openExchangeFiles(String, () => {})
        const client = files.recorded(clientThat(replies('hello')), dir)
        for (let i = 0; i < turns; i++) await client.complete({ messages: [{ role: 'user', content: `say ${i}` }] })
        await files.close()
      }
      const killed = await open(jobDir)
      expect(await turnsOf(killed)).toEqual([])
      await told(killed, 3)
      const second = await open(jobDir)
      await told(second, 1)
      expect(await turnsOf(second)).toEqual([[null, 3]])
      await second.commit(someRecord({ end: { kind: 'cancelled' } }))
      await second.retract('hello__AbC23de')
      expect(await turnsOf(second)).toEqual([[null, 3]])
      await told(second, 4)
      await second.commit(someRecord({ end: { kind: 'cancelled' } }))
      await second.close()
      const third = await open(jobDir)
      await third.retract('hello__AbC23de')
      expect(await turnsOf(third)).toEqual([[null, 4]])
      await third.startOver(someTrialConfig())
      expect(await turnsOf(third)).toEqual([])
      await told(third, 2, 'first')
      const last = await open(jobDir)
      await last.begin(someTrialConfig())
      expect(await turnsOf(last)).toEqual([['first', 2]])
      await last.commit(someRecord())
      expect(await turnsOf(last)).toEqual([])
      await last.close()
      expect(await readdir(jobDir)).not.toContain('.tapes')
    })

    test('writes no secret of the host, neither into files nor into records', async () => {
      const store = await open(await tempDir())
      const config = someTrialConfig()
      const secret = 'sk-very-secret-value-123'
      const record = someRecord({ config: { ...config, agent: { ...config.agent, env: { API_KEY: secret } } } })
      await finish(store, record)
      expect(JSON.stringify(await recordsOf(store))).not.toContain(secret)
      await using opened = await store.open(record.name)
      for (const file of ['config.json', 'record.json', 'result.json']) {
        expect(await readFile(join(opened.dir, file), 'utf8')).not.toContain(secret)
      }
      await store.close()
    })

    test.each(['', '.hidden', '../up', 'a/b'])('refuses the name %j', async (trialName) => {
      const store = await open(await tempDir())
      await expect((async () => store.begin(someTrialConfig({ trialName })))()).rejects.toThrow(
        'expected the name of a trial',
      )
      await expect((async () => store.open(trialName))()).rejects.toThrow()
      await store.close()
    })

    test('cannot open a trial that is not finished', async () => {
      const store = await open(await tempDir())
      await store.begin(someTrialConfig())
      await expect(store.open('hello__AbC23de')).rejects.toThrow('has no finished trial')
      await store.close()
    })
  })
}
