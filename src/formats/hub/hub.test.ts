import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { parquetWriteFile } from 'hyparquet-writer'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { HubStandIn } from '../../../test/fakes/hub/server.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import { packTasks } from '../task-parquet/pack-tasks.ts'
import { hubAccount } from './account.ts'
import { parseCard, renderUploads, uploadsOf } from './card.ts'
import { downloadSnapshot, openSnapshot } from './download.ts'
import { chooseParquet, chooseTaskFiles, downloadTasks } from './download-tasks.ts'
import { openRepository } from './open.ts'
import { parseTarget } from './target.ts'
import { type UploadAsk, uploadFolder } from './upload.ts'

let hub: HubStandIn
beforeEach(async () => {
  hub = await HubStandIn.start()
})
afterEach(() => hub.close())

const patience = { tries: 3, firstWaitMs: 1, longestWaitMs: 2 }
const open = (name: string, env: Record<string, string> = hub.env) =>
  openRepository(name, { env, signal: new AbortController().signal, patience })

async function folder(files: Record<string, string>): Promise<string> {
  const dir = await makeTempDir()
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true })
    if (path.endsWith('.parquet')) {
      const data = text.split(' ')
      parquetWriteFile({ filename: join(dir, path), columnData: [{ name: 'word', data, type: 'STRING' }] })
    } else await writeFile(join(dir, path), text)
  }
  return dir
}

const upload = (name: string, dir: string, more: Partial<UploadAsk> = {}) =>
  uploadFolder({
    ...{ repository: open(name), dir, kind: 'files', replace: false, isPrivate: true, message: 'a message' },
    ...{ branch: 'main', lineage: { 'pipeline p': 2 }, madeBy: 'ot-agent test', ...more },
  })

const download = async (name: string, out: string, more = {}) => {
  const options = { limitBytes: 1e9, signal: new AbortController().signal, ...more }
  return downloadSnapshot(await openSnapshot(open(name), null), out, options)
}

const rowsOf = (name: string) =>
  uploadsOf(parseCard(hub.repo(name).commit('main')?.files.get('README.md')?.data.toString() ?? '')).map(
    ({ rows }) => rows,
  )

describe.each(['hub', 'folder'])('a dataset on a %s', (kind) => {
  const nameIt = async () => (kind === 'hub' ? 'me/set' : `file:${join(await makeTempDir(), 'set')}`)

  test('gives back the very bytes that were brought', async () => {
    const name = await nameIt()
    const dir = await folder({
      'data/train-00000-of-00001.parquet': 'a b c',
      'notes.txt': 'ü\n',
      'deep/er/x y.txt': 'x',
    })
    const done = await upload(name, dir)
    expect(done).toMatchObject({ rows: 3, removed: [], same: 0 })
    expect([...done.added].sort()).toEqual([
      'README.md',
      'data/train-00000-of-00001.parquet',
      'deep/er/x y.txt',
      'notes.txt',
    ])
    const out = join(await makeTempDir(), 'out')
    expect(await download(name, out)).toBe(false)
    for (const path of ['data/train-00000-of-00001.parquet', 'notes.txt', 'deep/er/x y.txt'])
      expect(await readFile(join(out, path))).toEqual(await readFile(join(dir, path)))
    expect(await download(name, out)).toBe(true)
    await expect(download(name, dir)).rejects.toThrow('expected a new path')
  })

  test('brought twice is written once; other data is added beside it, and --replace takes the rest away', async () => {
    const name = await nameIt()
    const first = await folder({ 'data/train-00000-of-00001.parquet': 'a b', 'old.txt': 'old' })
    await upload(name, first)
    expect(await upload(name, first)).toMatchObject({ commit: null, added: [] })
    const second = await folder({ 'data/train-00000-of-00001.parquet': 'c d e' })
    const { added } = await upload(name, second)
    expect(added).toEqual([expect.stringMatching(/^data\/train-[0-9a-f]{8}-00000-of-00001\.parquet$/), 'README.md'])
    expect(await upload(name, second)).toMatchObject({ commit: null })
    if (kind === 'hub') expect(rowsOf(name)).toEqual([2, 3])
    const { removed } = await upload(name, second, { replace: true })
    expect([...removed].sort()).toEqual([added[0], 'old.txt'])
    if (kind === 'hub') expect(rowsOf(name)).toEqual([3])
  })

  test('a dry run writes nothing', async () => {
    const name = await nameIt()
    expect(await upload(name, await folder({ 'a.txt': 'a' }), { dryRun: true })).toMatchObject({
      commit: null,
      added: ['a.txt', 'README.md'],
    })
    expect(await open(name).head(null)).toBe(null)
  })
})

test.each(['hub', 'folder'])('a model on a %s comes and goes as it is, without a card of ours', async (kind) => {
  const name = kind === 'hub' ? 'me/model' : `file:${join(await makeTempDir(), 'model')}`
  const env = hub.env
  const repository = openRepository(name, { env, signal: new AbortController().signal, patience }, 'model')
  const dir = await folder({ 'config.json': '{}', 'trainer_log.jsonl': '{"step":1}\n', 'model.bin': 'a\0b' })
  const ask = { dir, kind: 'files', replace: false, isPrivate: true, message: 'm', branch: 'main' } as const
  const bring = () => uploadFolder({ ...ask, repository, lineage: {}, madeBy: 'test' })
  expect([...(await bring()).added].sort()).toEqual(['config.json', 'model.bin', 'trainer_log.jsonl'])
  await writeFile(join(dir, 'trainer_log.jsonl'), '{"step":2}\n')
  expect((await bring()).added).toEqual(['trainer_log.jsonl'])
  const out = join(await makeTempDir(), 'out')
  await downloadSnapshot(await openSnapshot(repository, null), out, {
    limitBytes: 1e6,
    signal: new AbortController().signal,
  })
  for (const path of ['config.json', 'model.bin', 'trainer_log.jsonl'])
    expect(await readFile(join(out, path))).toEqual(await readFile(join(dir, path)))
  expect(hub.repos.has('me/model')).toBe(false)
})

test('a new dataset is private, has the message, and hidden files and links stay here', async () => {
  const dir = await folder({ 'a.txt': 'a', '.env': 'HF_TOKEN=hf_x', '.git/config': 'x' })
  await symlink('/etc/passwd', join(dir, 'link'))
  const { leftOut } = await upload('me/set', dir)
  expect([...leftOut].sort()).toEqual(['.env', '.git', 'link'])
  const { isPrivate, commits } = hub.repo('me/set')
  expect(isPrivate).toBe(true)
  expect(commits.at(-1)).toMatchObject({ title: 'a message' })
  expect([...(commits.at(-1)?.files.keys() ?? [])].sort()).toEqual(['.gitattributes', 'README.md', 'a.txt'])
  const { HF_TOKEN: _, ...anonymous } = hub.env
  await expect(open('me/set', anonymous).head(null)).rejects.toThrow('expected a token, found none (401)')
})

test('a busy, a failing and a cutting Hub are asked again, and what arrived is not sent twice', async () => {
  hub.faults.add({
    when: /preupload/,
    times: 1,
    what: { answer: 429, message: 'slow down', headers: { 'retry-after': '0' } },
  })
  hub.faults.add({ when: /batch/, times: 2, what: { answer: 503, message: 'overloaded' } })
  hub.faults.add({ when: /PUT/, times: 1, what: 'drop' })
  hub.faults.add({ when: /GET .*tree/, times: 1, what: 'drop' })
  await upload('me/set', await folder({ 'a.parquet': 'a', 'b.parquet': 'b b', 'c.parquet': 'c c c' }))
  expect(new Set(hub.sent).size).toBe(3)
  expect(hub.sent.length).toBe(3)
})

test('a commit whose answer is lost is not made twice', async () => {
  hub.faults.add({ when: /POST .*\/commit\//, times: 1, what: 'drop', late: true })
  const done = await upload('me/set', await folder({ 'a.parquet': 'a' }))
  const { commits } = hub.repo('me/set')
  expect(commits.map(({ title }) => title)).toEqual(['initial commit', 'a message'])
  expect(done).toMatchObject({ commit: commits[1]?.sha, added: ['a.parquet', 'README.md'] })
})

test('another user’s concurrent commit is kept', async () => {
  const repo = hub.repo('me/set')
  const batch = hub.faults.take.bind(hub.faults)
  let others = 0
  hub.faults.take = (request) => {
    if (/POST .*\/commit\//.test(request) && others++ < 2) repo.put(`theirs-${others}.txt`, 'x')
    return batch(request)
  }
  await upload('me/set', await folder({ 'a.txt': 'a' }))
  expect([...(repo.commit('main')?.files.keys() ?? [])].sort()).toEqual([
    '.gitattributes',
    'README.md',
    'a.txt',
    'theirs-1.txt',
    'theirs-2.txt',
  ])
  hub.faults.take = (request) => {
    if (/POST .*\/commit\//.test(request)) repo.put(`theirs-${others++}.txt`, 'x')
    return batch(request)
  }
  const failing = upload('me/set', await folder({ 'b.txt': 'b' }))
  await expect(failing).rejects.toMatchObject({ name: 'BoundaryError', code: 'HubConflict' })
})

test.each([
  [401, 'UserError', undefined, 'does not accept the token'],
  [403, 'UserError', undefined, 'the token lacks permission'],
  [404, 'UserError', undefined, 'found nothing'],
  [429, 'BoundaryError', 'HubRateLimited', 'too many requests to the Hub'],
  [500, 'BoundaryError', 'HubUnavailable', 'the Hub failed (500): kaputt'],
  [400, 'BoundaryError', 'HubRefused', 'the Hub refused the request (400): kaputt'],
])('an answer of %i is a %s', async (answer, name, code, message) => {
  hub.repo('me/set')
  hub.faults.add({ when: /tree/, times: 9, what: { answer, message: 'kaputt' } })
  const failing = open('me/set').list('main')
  await expect(failing).rejects.toMatchObject({
    name,
    ...(code && { code }),
    message: expect.stringContaining(message),
  })
  await expect(open('me/set').list('main')).rejects.not.toThrow(hub.token)
})

test('no Hub, no dataset and no write permission give different errors', async () => {
  const { HF_TOKEN: _, ...anonymous } = hub.env
  const files = await folder({ 'a.txt': 'a' })
  await expect(openSnapshot(open('me/none'), null)).rejects.toThrow('me/none: expected a dataset, found none')
  hub.repo('me/set')
  await expect(openSnapshot(open('me/set'), 'v9')).rejects.toThrow('me/set at v9')
  await expect(upload('forbidden/set', files)).rejects.toThrow('(403)')
  await expect(upload('me/new', files, { repository: open('me/set', anonymous) })).rejects.toThrow(
    'expected a token to write with',
  )
  const nobody = open('me/set', { ...hub.env, HF_ENDPOINT: 'http://127.0.0.1:9' })
  await expect(nobody.head(null)).rejects.toMatchObject({ name: 'BoundaryError', code: 'HubUnreachable' })
})

test('an interrupted download continues from its last byte, and a wrong byte is rejected', async () => {
  const repo = hub.repo('me/set')
  repo.put('a.txt', 'x'.repeat(100_000))
  hub.cutAfterBytes.push(40_000, 30_000)
  const out = join(await makeTempDir(), 'out')
  await download('me/set', out)
  expect((await readFile(join(out, 'a.txt'), 'utf8')).length).toBe(100_000)
  expect(hub.faults.seen.filter((line) => /GET .*cache.*a\.txt/.test(line)).length).toBe(3)
  const file = repo.commit('main')?.files.get('a.txt')
  file?.data.write('wrong')
  const bad = join(await makeTempDir(), 'bad')
  await expect(download('me/set', bad)).rejects.toThrow('its content does not match its digest')
  expect(await readdir(dirname(bad))).toEqual(['.bad.download'])
})

test('a revision is pinned: later commits are not in it', async () => {
  const repo = hub.repo('me/set')
  repo.put('a.txt', 'one')
  const { sha = '' } = repo.commit('main') ?? {}
  repo.put('a.txt', 'two')
  repo.put('b.txt', 'b')
  const snapshot = await openSnapshot(open('me/set'), sha)
  expect(snapshot.files.map(({ path }) => path)).toEqual(['.gitattributes', 'a.txt'])
  const out = join(await makeTempDir(), 'out')
  await downloadSnapshot(snapshot, out, { limitBytes: 1e6, signal: new AbortController().signal })
  expect(await readFile(join(out, 'a.txt'), 'utf8')).toBe('one')
})

test.each(['../a', '/a', 'a/../../b', 'a\\b', 'a//b', './a'])('a dataset with the path %j is refused', async (path) => {
  hub.repo('me/set').put(path, 'x')
  await expect(openSnapshot(open('me/set'), null)).rejects.toThrow('is refused')
})

test('a dataset larger than allowed is refused before a byte of it is fetched', async () => {
  hub.repo('me/set').put('a.txt', 'x'.repeat(1000))
  const out = join(await makeTempDir(), 'out')
  await expect(download('me/set', out, { limitBytes: 1000 })).rejects.toThrow('expected at most 1000 bytes, found 10')
  expect(await readdir(dirname(out))).toEqual([])
})

test('a parquet file is chosen by its path or its last part', async () => {
  const repo = hub.repo('me/set')
  for (const path of ['tasks/train-0.parquet', 'b.parquet', 'c/b.parquet', 'x.txt']) repo.put(path, 'x')
  const snapshot = await openSnapshot(open('me/set'), null)
  const chosen = (name: string | null) => chooseParquet(snapshot, name).files.map(({ path }) => path)
  expect(chosen('train-0.parquet')).toEqual(['tasks/train-0.parquet'])
  expect(chosen('b.parquet')).toEqual(['b.parquet'])
  expect(chosen(null).length).toBe(3)
  expect(() => chosen('none.parquet')).toThrow('which names 0')
})

test('targets are datasets or folders, and nothing else', () => {
  expect(parseTarget('org/na.me-1', '--x')).toEqual({ kind: 'hub', repo: 'org/na.me-1' })
  expect(parseTarget('file:///a/b', '--x')).toEqual({ kind: 'folder', path: '/a/b' })
  for (const text of ['name', 'a/b/c', 'org/', '../x/y', 'org/..', 'http://x/y', 'org/a b', 'file:', 'org/x.git'])
    expect(() => parseTarget(text, '--x')).toThrow('--x: expected a')
})

test('token and address come from the environment, whichever name they have, or from where hf auth login stored the token', async () => {
  expect(hubAccount({})).toEqual({ token: null, endpoint: 'https://huggingface.co' })
  expect(hubAccount({ HUGGING_FACE_HUB_TOKEN: ' hf_a\n', HF_ENDPOINT: 'http://x:1/' })).toEqual({
    token: 'hf_a',
    endpoint: 'http://x:1',
  })
  const dir = await folder({ token: 'hf_a\n', other: 'hf_b', 'cache/huggingface/token': 'hf_c', odd: 'secret' })
  const tokenIn = (env: Record<string, string>) => hubAccount(env).token
  expect(tokenIn({ HF_HOME: dir, XDG_CACHE_HOME: join(dir, 'cache') })).toBe('hf_a')
  expect(tokenIn({ HF_TOKEN_PATH: join(dir, 'other'), HF_HOME: dir })).toBe('hf_b')
  expect(tokenIn({ XDG_CACHE_HOME: join(dir, 'cache'), HOME: '/nowhere' })).toBe('hf_c')
  expect(tokenIn({ HF_TOKEN: 'hf_d', HF_HOME: dir })).toBe('hf_d')
  expect(tokenIn({ HOME: dir })).toBe(null)
  expect(() => tokenIn({ HF_TOKEN_PATH: join(dir, 'odd') })).toThrow(/odd: expected a token that starts with hf_/)
  expect(() => hubAccount({ HF_TOKEN: 'secret' })).toThrow(
    /^HF_TOKEN: expected a token that starts with hf_, got another text$/,
  )
  expect(() => hubAccount({ HF_ENDPOINT: 'huggingface' })).toThrow('HF_ENDPOINT')
})

test('tasks come back from folders at any depth, and from packed files next to each other', async () => {
  const repo = hub.repo('me/folders')
  for (const name of ['one', 'two']) {
    repo.put(`deep/tasks/${name}/task.toml`, 'version = "1.0"\n')
    repo.put(`deep/tasks/${name}/tests/test.sh`, 'exit 0\n')
  }
  repo.put('deep/notes.txt', 'no task')
  const options = { limitBytes: 1e9, signal: new AbortController().signal }
  const out = join(await makeTempDir(), 'tasks')
  const chosen = chooseTaskFiles(await openSnapshot(open('me/folders'), null), null)
  expect(chosen.kind).toBe('folders')
  expect(await downloadTasks(chosen, out, options)).toEqual({ wasThere: false, repeated: 0 })
  expect((await readdir(out)).sort()).toEqual(['.hub-download.json', 'one', 'two'])
  const dir = await makeTempDir()
  const task = (name: string) => ({ path: name, dir: join(out, name) })
  await packTasks([task('one')], join(dir, 'a.parquet'))
  await packTasks([task('one'), task('two')], join(dir, 'b.parquet'))
  await upload('me/packed', dir)
  const packed = chooseTaskFiles(await openSnapshot(open('me/packed'), null), null)
  const back = join(await makeTempDir(), 'tasks')
  expect(await downloadTasks(packed, back, options)).toEqual({ wasThere: false, repeated: 1 })
  expect(await downloadTasks(packed, back, options)).toEqual({ wasThere: true, repeated: 0 })
  expect(await readdir(dirname(back))).toEqual(['tasks'])
  expect(await readFile(join(back, 'two/tests/test.sh'), 'utf8')).toBe('exit 0\n')
  await expect(downloadTasks(chosen, back, options)).rejects.toThrow('expected a new path')
  await downloadTasks(chosen, back, { ...options, overwrite: true })
  expect(() => chooseTaskFiles(packed.snapshot, 'c.parquet')).toThrow('which names 0')
})

test('a stopped download resumes with the files it has', async () => {
  const repo = hub.repo('me/set')
  for (const name of 'abcdefghijkl') repo.put(`${name}.txt`, name.repeat(50_000))
  const snapshot = await openSnapshot(open('me/set'), null)
  const out = join(await makeTempDir(), 'out')
  const stop = new AbortController()
  const onProgress = ({ files }: { files: number }) => files >= 2 && stop.abort()
  await expect(downloadSnapshot(snapshot, out, { limitBytes: 1e9, signal: stop.signal, onProgress })).rejects.toThrow()
  const kept = (await readdir(join(dirname(out), '.out.download'))).filter((name) => /^[a-l]\.txt$/.test(name))
  expect(kept.length).toBeGreaterThan(0)
  hub.faults.seen.length = 0
  await downloadSnapshot(snapshot, out, { limitBytes: 1e9, signal: new AbortController().signal })
  for (const name of kept)
    expect(hub.faults.seen.filter((line) => line.includes(`resolve/${snapshot.commit}/${name}`))).toEqual([])
  expect(await readFile(join(out, 'l.txt'), 'utf8')).toBe('l'.repeat(50_000))
})

test('the sizes of a card that has them are the sums of all uploads', async () => {
  const card = (bytes: number) =>
    `---\ndataset_info:\n  features: []\n  splits: []\n  dataset_size: ${bytes}\nlicense: mit\n---\n# Title\n`
  await upload('me/set', await folder({ 'data/train-0.parquet': 'a', 'README.md': card(10) }))
  await upload('me/set', await folder({ 'data/train-0.parquet': 'b c', 'README.md': card(20) }))
  const text = hub.repo('me/set').commit('main')?.files.get('README.md')?.data.toString() ?? ''
  expect(parseCard(text).front).toMatchObject({
    license: 'mit',
    dataset_info: { dataset_size: 30, splits: [{ name: 'train', num_bytes: 30, num_examples: 3 }] },
  })
  expect(text.match(/## Uploads/g)?.length).toBe(1)
})

test('a card returns the uploads recorded in it, whatever their names', () => {
  const count = fc.nat()
  const one = fc.record({
    digest: fc.string(),
    files: fc.array(fc.string()),
    ...{ rows: count, bytes: count, dataBytes: count },
    lineage: fc.dictionary(fc.stringMatching(/^[a-z][ -~]*$/), count),
  })
  fc.assert(
    fc.property(fc.array(one, { maxLength: 3 }), fc.string(), (uploads, body) => {
      const text = renderUploads({ front: { license: 'mit' }, body }, uploads)
      expect(uploadsOf(parseCard(text))).toEqual(uploads)
      const again = parseCard(text)
      expect(renderUploads(again, uploads)).toBe(text)
    }),
  )
})
