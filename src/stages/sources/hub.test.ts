import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runStage, stageLaws } from '../../../test/contracts/stage.ts'
import { lfsFile, type StoredRepo } from '../../../test/fakes/hub/repo.ts'
import { HubStandIn } from '../../../test/fakes/hub/server.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import { parseGlob } from '../../lib/path-glob.ts'
import plugin from './hub.ts'

let hub: HubStandIn
let stateDir: string
beforeAll(async () => {
  hub = await HubStandIn.start()
  stateDir = await mkdtemp(join(tmpdir(), 'hub-cache-'))
  const repo = hub.repo('me/plain')
  putTable(repo, 'data/train-00000-of-00002.parquet', ['a', 'b'])
  putTable(repo, 'data/train-00001-of-00002.parquet', ['c'])
  putTable(repo, 'data/test-00000-of-00001.parquet', ['t'])
})
afterAll(async () => {
  hub.close()
  await rm(stateDir, { recursive: true })
})

function putTable(repo: StoredRepo, path: string, words: string[], branch = 'main'): void {
  const data = Buffer.from(parquetWriteBuffer({ columnData: [{ name: 'word', data: words, type: 'STRING' }] }))
  const files = new Map(repo.commit(branch)?.files ?? [])
  repo.add(branch, `add ${path}`, files.set(path, lfsFile(data, createHash('sha256').update(data).digest('hex'))))
}

const make = (options: object) => plugin.make(plugin.options.parse(options), { env: hub.env, stateDir })
const words = async (options: object) => {
  const rows = await runStage(make(options), [])
  return rows.map((row) => ('fields' in row ? row.fields.word : row))
}

stageLaws('sources/hub', { make: async () => make({ repo: 'me/plain' }), rows: [] })

test('gives the rows of a split, named by their content, and fetches each file once', async () => {
  const [row] = await runStage(make({ repo: 'me/plain' }), [])
  expect(row).toEqual({ id: expect.stringMatching(/^[0-9a-f]{16}$/), source: 'plain', fields: { word: 'a' } })
  expect(await words({ repo: 'me/plain' })).toEqual(['a', 'b', 'c'])
  expect(await words({ repo: 'me/plain', split: 'test' })).toEqual(['t'])
  const fetched = hub.faults.seen.filter((line) => /GET \/storage.*train-00000/.test(line))
  expect(fetched.length).toBe(1)
})

test('a revision keeps its rows, and its fingerprint, when the dataset goes on', async () => {
  const repo = hub.repo('me/moving')
  putTable(repo, 'train.parquet', ['old'])
  const revision = repo.commit('main')?.sha
  const at = {
    seed: 1,
    signal: new AbortController().signal,
    workDir: stateDir,
    log: () => {},
  }
  const before = await make({ repo: 'me/moving' }).fingerprint?.(at)
  const pinned = await make({ repo: 'me/moving', revision }).fingerprint?.(at)
  putTable(repo, 'train.parquet', ['new'])
  expect(await words({ repo: 'me/moving', revision })).toEqual(['old'])
  expect(await words({ repo: 'me/moving' })).toEqual(['new'])
  expect(await make({ repo: 'me/moving' }).fingerprint?.(at)).not.toBe(before)
  expect(await make({ repo: 'me/moving', revision }).fingerprint?.(at)).toBe(pinned)
})

test('the card says which files a configuration has', async () => {
  const repo = hub.repo('me/card')
  putTable(repo, 'one/0000.parquet', ['one'])
  putTable(repo, 'two/a/0000.parquet', ['two'])
  repo.put('three.jsonl', '{"word":"three"}\n')
  const configs = [
    '- config_name: one\n  data_files: one/*',
    '- config_name: two\n  default: true\n  data_files:\n  - split: train\n    path: ["two/**/*.parquet"]',
    '- config_name: three\n  data_files:\n  - split: extra\n    path: three.jsonl',
  ]
  repo.put('README.md', `---\nconfigs:\n${configs.join('\n')}\n---\n# Card\n`)
  expect(await words({ repo: 'me/card' })).toEqual(['two'])
  expect(await words({ repo: 'me/card', config: 'one' })).toEqual(['one'])
  expect(await words({ repo: 'me/card', config: 'three', split: 'extra' })).toEqual(['three'])
  expect(await words({ repo: 'me/card', files: '*/0000.parquet' })).toEqual(['one'])
  await expect(words({ repo: 'me/card', config: 'three' })).rejects.toMatchObject({
    hint: 'its configs: one, two, three',
  })
})

test('a dataset of another format is read as the Hub converted it', async () => {
  const repo = hub.repo('me/odd')
  repo.put('rows.arrow', 'x')
  putTable(repo, 'default/train/0000.parquet', ['converted'], 'refs/convert/parquet')
  expect(await words({ repo: 'me/odd' })).toEqual(['converted'])
  await expect(words({ repo: 'me/odd', revision: repo.commit('main')?.sha })).rejects.toThrow(
    'expected data files for split train',
  )
})

test('a folder of this machine is a dataset too', async () => {
  const dir = await makeTempDir()
  await mkdir(join(dir, 'data'))
  await writeFile(join(dir, 'data', 'train.jsonl'), '{"word":"x"}\nnot json\n')
  expect(await words({ repo: `file:${dir}` })).toEqual([
    'x',
    { drop: 'unreadable-row', detail: expect.any(String), id: 'line 2' },
  ])
})

test('too much data is refused, and a wrong option too', async () => {
  await expect(words({ repo: 'me/plain', maxGb: 1e-9 })).rejects.toThrow('expected at most')
  expect(plugin.options.safeParse({ repo: 'me/plain', token: 'hf_x' }).success).toBe(false)
})

test('a pattern without signs matches itself and what is below it, nothing else', () => {
  const path = fc.stringMatching(/^[a-z.()+\]$^|]{1,8}(\/[a-z.-]{1,5}){0,2}$/)
  fc.assert(
    fc.property(path, path, (pattern, other) => {
      const test = parseGlob(pattern)
      const clean = pattern.replace(/^\.?\//, '')
      expect(test.test(clean)).toBe(true)
      expect(test.test(`${clean}/x`)).toBe(true)
      expect(test.test(other)).toBe(other === clean || other.startsWith(`${clean}/`))
    }),
  )
})
