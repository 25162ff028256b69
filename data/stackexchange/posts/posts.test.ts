import { spawnSync } from 'node:child_process'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { findProgram } from '../../../src/lib/programs.ts'
import { runStage, stageLaws } from '../../../test/contracts/stage.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import { needs } from '../../../test/needs.ts'
import posts from './index.ts'
import { parsePost, readPosts } from './read-posts.ts'

const context = { env: {}, stateDir: '/nonexistent' }
const make = (options: object) => posts.make(posts.options.parse(options), context)

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;').replaceAll('\n', '&#xA;')
const row = (fields: Record<string, string | number>) =>
  `  <row ${Object.entries(fields)
    .map(([name, value]) => `${name}="${escaped(String(value))}"`)
    .join(' ')} />\n`
const asked = (Id: number, more: Record<string, string | number> = {}) =>
  row({
    Id,
    PostTypeId: 1,
    Score: 3,
    Title: `Q & ${Id}`,
    Tags: '<bash><awk>',
    Body: `<p>How?</p><pre><code>a &lt; ${Id}\n</code></pre>`,
    ...more,
  })
const said = (Id: number, ParentId: number, more: Record<string, string | number> = {}) =>
  row({ Id, PostTypeId: 2, ParentId, Score: 1, Body: `<p>So:</p><pre><code>echo ${Id}</code></pre>`, ...more })
const xml = (...rows: string[]) => `\uFEFF<?xml version="1.0" encoding="utf-8"?>\n<posts>\n${rows.join('')}</posts>\n`

async function save(text: string | Buffer, name = 'Posts.xml'): Promise<string> {
  const path = join(await makeTempDir(), name)
  await writeFile(path, text)
  return path
}

const small = xml(
  asked(1, { AcceptedAnswerId: 4 }),
  said(2, 1, { Score: 50 }),
  asked(3, { Tags: '|sed|', Score: 0 }),
  said(4, 1, { CommentCount: 3 }),
  said(5, 3, { Score: 2 }),
  said(6, 3, { Score: 7 }),
  asked(7),
  asked(8, { Body: '<p>No code at all in this question, however long it may go on.</p>' }),
  row({ Id: 9, PostTypeId: 5, Body: 'a wiki' }),
)

stageLaws('posts', { make: async () => make({ path: await save(small), minChars: 10 }), rows: [] })

test('an answer by the asker says so; answers of deleted accounts have no author', async () => {
  const text = xml(
    asked(1, { OwnerUserId: 7 }),
    said(2, 1, { OwnerUserId: 7, Score: 2 }),
    said(3, 1, { OwnerUserId: 8 }),
    asked(4),
    said(5, 4),
  )
  const found = await runStage(make({ path: await save(text), minChars: 10 }), [])
  expect(found).toMatchObject([
    { fields: { answer: { id: 2, isOwn: true }, otherAnswers: [{ id: 3, isOwn: false }] } },
    { fields: { answer: { id: 5, isOwn: false } } },
  ])
})

test('a question whose accepted answer is in another part of the dump is left out', async () => {
  const path = await save(xml(asked(1, { AcceptedAnswerId: 9 }), said(2, 1, { Score: 50 }), asked(3), said(4, 3)))
  const read = (more: object) => runStage(make({ path, minChars: 10, answersWithoutCode: true, ...more }), [])
  expect(await read({})).toMatchObject([
    { drop: 'no-answer', id: '1' },
    { id: '3', fields: { answer: { id: 4 } } },
  ])
})

test('a question comes with its accepted answer, else with the best, code and title and tags kept', async () => {
  const found = await runStage(make({ path: await save(small), minChars: 10, source: 'unix' }), [])
  expect(found).toEqual([
    {
      id: '1',
      source: 'unix',
      fields: {
        title: 'Q & 1',
        tags: ['bash', 'awk'],
        score: 3,
        day: null,
        license: null,
        body: 'How?\n\n```\na < 1\n```',
        code: [{ text: 'a < 1', language: null, before: 'How?' }],
        answer: {
          id: 4,
          score: 1,
          accepted: true,
          isOwn: false,
          comments: 3,
          body: 'So:\n\n```\necho 4\n```',
          code: [{ text: 'echo 4', language: null, before: 'So:' }],
        },
        otherAnswers: [expect.objectContaining({ id: 2, score: 50, accepted: false })],
      },
    },
    expect.objectContaining({
      id: '3',
      fields: expect.objectContaining({ tags: ['sed'], answer: expect.objectContaining({ id: 6, accepted: false }) }),
    }),
    { drop: 'no-answer', id: '7', detail: expect.any(String) },
  ])
})

test('answers without code count where they are asked for, and a question knows its day', async () => {
  const plain = said(2, 1, { Body: '<p>Words alone.</p>' })
  const path = await save(xml(asked(1, { CreationDate: '2021-06-13T08:00:00.000' }), plain))
  expect(await runStage(make({ path, minChars: 1 }), [])).toEqual([expect.objectContaining({ drop: 'no-answer' })])
  const [found] = await runStage(make({ path, minChars: 1, answersWithoutCode: true }), [])
  expect(found).toMatchObject({ fields: { day: '2021-06-13', answer: { body: 'Words alone.', code: [] } } })
})

test('scores, tags, lengths and closed questions decide what is read at all', async () => {
  const ids = async (options: object) =>
    (await runStage(make({ path: await save(small), minChars: 10, ...options }), [])).map((found) => found.id)
  expect(await ids({ minScore: 1 })).toEqual(['1', '7'])
  expect(await ids({ tags: ['sed'] })).toEqual(['3'])
  expect(await ids({ minChars: 10_000 })).toEqual([])
  expect(await ids({ code: false, minScore: 1 })).toEqual(['1', '7', '8'])
  const path = await save(xml(asked(1, { ClosedDate: '2020-01-01' }), said(2, 1)))
  expect(await runStage(make({ path, minChars: 1 }), [])).toEqual([])
})

test('answers are found however far they are from their questions, in the order of questions', async () => {
  const many = 40_000
  const questions = Array.from({ length: 50 }, (_, i) => asked(i * 800 + 1, { AcceptedAnswerId: many + 50 - i }))
  const answers = Array.from({ length: 50 }, (_, i) => said(many + i + 1, (49 - i) * 800 + 1))
  const dir = await makeTempDir()
  const found = await runStage(make({ path: await save(xml(...questions, ...answers)), minChars: 1 }), [], {
    workDir: dir,
  })
  expect(found.map((row) => Number(row.id))).toEqual(questions.map((_, i) => i * 800 + 1))
  for (const row of found) expect(row).toMatchObject({ fields: { answer: { accepted: true } } })
  expect(await readdir(dir)).toEqual([])
})

test('a post’s text is read unchanged, wherever the file is cut into chunks', async () => {
  const words = fc.string({ unit: fc.constantFrom(...'ab <>&"\'=/;#xA\n\t😀é', '&amp;', '&#10;', '<row ', ' />') })
  const post = fc.record({ Id: fc.nat(), Score: fc.integer({ min: -9, max: 9 }), Title: words, Body: words })
  await fc.assert(
    fc.asyncProperty(fc.array(post, { maxLength: 5 }), fc.integer({ min: 1, max: 40 }), async (rows, size) => {
      const bytes = Buffer.from(xml(...rows.map((fields) => row({ ...fields, PostTypeId: 1 }))))
      async function* chunks() {
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
      }
      const found: object[] = []
      for await (const { raw, bodyChars } of readPosts('x', chunks())) {
        const { id: Id, score: Score, title: Title, body: Body } = parsePost(raw)
        found.push({ Id, Score, Title, Body })
        expect(bodyChars).toBe(Body.length)
      }
      expect(found).toEqual(rows)
    }),
  )
})

test('a gzipped dump is read, and only as far as requested', async () => {
  const path = await save(gzipSync(small), 'Posts.xml.gz')
  expect((await runStage(make({ path, minChars: 10 }), [])).length).toBe(3)
  const cut = await save(gzipSync(small).subarray(0, 60), 'Posts.xml.gz')
  await expect(runStage(make({ path: cut }), [])).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining('packed with gzip'),
  })
  const plain = await save(small)
  expect((await runStage(make({ path: plain, minChars: 10, maxMb: 0.000_001 }), [])).length).toBe(3)
})

const unpacker = ['7zz', '7z', '7za', 'bsdtar'].find((name) => findProgram(name) !== null) ?? '7zz'
test(
  'Posts.xml inside a .7z is read through a pipe; a broken archive is the user’s error',
  needs(unpacker),
  async () => {
    const path = await save(small)
    const archive = join(path, '../dump.7z')
    const words =
      unpacker === 'bsdtar' ? ['--format', '7zip', '-cf', archive, 'Posts.xml'] : ['a', archive, 'Posts.xml']
    expect(spawnSync(unpacker, words, { cwd: join(path, '..') }).status).toBe(0)
    expect((await runStage(make({ path: archive, minChars: 10 }), [])).length).toBe(3)
    await expect(runStage(make({ path: await save('nonsense', 'x.7z') }), [])).rejects.toMatchObject({
      name: 'UserError',
      message: expect.stringContaining('expected a .7z that holds Posts.xml'),
    })
  },
)

test.each([
  ['nothing of the kind', 'expected <posts>'],
  [`<posts><row Body="${'x'.repeat(40_000_000)}`, 'expected rows of at most'],
])('what is no dump is refused', async (text, message) => {
  await expect(runStage(make({ path: await save(text) }), [])).rejects.toMatchObject({
    name: 'UserError',
    message: expect.stringContaining(message),
  })
})

test('a missing dump is the user’s error', async () => {
  await expect(runStage(make({ path: '/nonexistent/Posts.xml' }), [])).rejects.toMatchObject({ name: 'UserError' })
})
