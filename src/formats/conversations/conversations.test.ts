import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { SqlDatabase, sqlText } from '../../lib/duckdb.ts'
import { scanRow } from './facts.ts'
import { messagesOf } from './messages.ts'
import { datasetFiles, openRows } from './open-rows.ts'

test.each([
  [
    'ShareGPT',
    {
      conversations: [
        { from: 'human', value: 'q' },
        { from: 'gpt', value: 'a' },
      ],
    },
  ],
  [
    'OpenAI',
    {
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', content: 'a' },
      ],
    },
  ],
  [
    'prompt and completion',
    { prompt: [{ role: 'user', content: 'q' }], completion: [{ role: 'assistant', content: 'a' }] },
  ],
  [
    'content in parts',
    {
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'q' }] },
        { from: 'model', value: 'a' },
      ],
    },
  ],
  ['a list as JSON', { messages: '[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]' }],
  ['question and answer', { instruction: 'q', output: 'a' }],
])('messages are found in rows of %s', (_, row) => {
  expect(messagesOf(row).map(({ role, content }) => [role, content])).toEqual([
    ['user', 'q'],
    ['assistant', 'a'],
  ])
})

test('calls and reasoning are found in the message and in columns of their own', () => {
  const calls = [{ id: '1', type: 'function', function: { name: 'bash', arguments: '{"a":1}' } }]
  const [inside] = messagesOf({
    messages: [{ role: 'assistant', content: null, tool_calls: calls, reasoning_content: 'hm' }],
  })
  expect(inside).toEqual({
    role: 'assistant',
    content: '',
    reasoning: 'hm',
    calls: [{ name: 'bash', arguments: '{"a":1}' }],
  })
  const [, beside] = messagesOf({
    conversations: [
      { role: 'user', content: 'q' },
      { role: 'assistant', content: 'a' },
    ],
    tool_calls: [{ message: 1, id: 'x', name: 'bash', arguments: 'ls' }],
    reasoning: [{ message: 1, content: 'hm' }],
  })
  expect(beside).toEqual({
    role: 'assistant',
    content: 'a',
    reasoning: 'hm',
    calls: [{ name: 'bash', arguments: 'ls' }],
  })
})

test('rows without messages have facts too', () => {
  const { facts, text } = scanRow({ id: 7n, source: 's', fields: '{"title":"hello"}', reward: 0.5 })
  expect(facts).toMatchObject({
    id: '7',
    source: 's',
    result: '0.5',
    turns: 0,
    messages: 0,
    begins: '{"title":"hello"}',
  })
  expect(Buffer.from(text).toString()).toBe('{"title":"hello"}')
})

async function numbersAndTexts(path: string): Promise<string[]> {
  const source = await openRows(path)
  try {
    const seen: string[] = []
    for await (const { number, row } of source.scan(new AbortController().signal)) {
      expect(messagesOf((await source.read(number)) ?? {})).toEqual(messagesOf(row))
      seen.push(
        `${number} ${messagesOf(row)
          .map(({ content }) => content)
          .join('|')}`,
      )
    }
    expect(await source.read(10_000)).toBe(null)
    return seen
  } finally {
    await source.close()
  }
}

test('JSON lines are read in order and one by one, over several files, with bytes that are no text', async () => {
  const dir = join(await makeTempDir(), 'dataset')
  mkdirSync(join(dir, 'data'), { recursive: true })
  const line = (text: string) => `${JSON.stringify({ conversations: [{ from: 'human', value: text }] })}\n`
  const broken = Buffer.from(line('bad @@ bytes'))
  broken.fill(0xff, broken.indexOf('@@'), broken.indexOf('@@') + 2)
  writeFileSync(
    join(dir, 'data', 'a.jsonl'),
    Buffer.concat([Buffer.from(line('one')), broken, Buffer.from('nonsense\n\n')]),
  )
  writeFileSync(join(dir, 'data', 'b.jsonl'), Array.from({ length: 250 }, (_, i) => line(`b${i}`)).join(''))
  const seen = await numbersAndTexts(dir)
  expect(seen.slice(0, 5)).toEqual([
    '0 one',
    '1 bad \ufffd\ufffd bytes',
    '2 This line is not a JSON object.',
    '4 b0',
    '5 b1',
  ])
  expect(seen).toHaveLength(253)
})

test('parquet is read in order and one by one, also where texts are no UTF-8', async () => {
  const dir = await makeTempDir()
  await using sql = await SqlDatabase.open({ memoryMb: 256, threads: 1, tempDir: dir })
  const write = (name: string, texts: string) =>
    sql.run(
      `COPY (SELECT [{'role': 'user', 'content': t}] AS messages, i AS reward FROM (SELECT unnest(${texts}) AS t, 1 AS i))
       TO ${sqlText(join(dir, name))} (FORMAT parquet, COMPRESSION uncompressed)`,
    )
  await write('a.parquet', "['one', 'two']")
  await write('b.parquet', "['three', 'bad @@ bytes', 'five']")
  const bytes = readFileSync(join(dir, 'b.parquet'))
  for (let at = bytes.indexOf('@@'); at >= 0; at = bytes.indexOf('@@')) bytes.fill(0xff, at, at + 2)
  writeFileSync(join(dir, 'b.parquet'), bytes)
  expect(await numbersAndTexts(dir)).toEqual(['0 one', '1 two', '2 three', '3 bad \ufffd\ufffd bytes', '4 five'])
  expect(await datasetFiles(join(dir, 'none'))).toEqual([])
})

test('rows of parquet are read after a while too, when the database was closed', async () => {
  const file = join(await makeTempDir(), 'rows.parquet')
  await using sql = await SqlDatabase.open({ memoryMb: 200, threads: 1, tempDir: `${file}.tmp` })
  await sql.run(`COPY (SELECT 'row ' || i AS text FROM range(3) t(i)) TO ${sqlText(file)} (FORMAT parquet)`)
  const rows = await openRows(file)
  expect(await rows.read(1)).toEqual({ text: 'row 1' })
  await new Promise((resolve) => setTimeout(resolve, 1500))
  expect(await Promise.all([rows.read(2), rows.read(1), rows.read(0)])).toEqual(
    [2, 1, 0].map((i) => ({ text: `row ${i}` })),
  )
  await rows.close()
})

test('what is no dataset is refused with what was expected', async () => {
  const dir = await makeTempDir()
  await expect(openRows(join(dir, 'none'))).rejects.toThrow('expected a dataset, found nothing there')
  await expect(openRows(dir)).rejects.toThrow('a folder without one')
  writeFileSync(join(dir, 'x.parquet'), 'no parquet')
  await expect(openRows(join(dir, 'x.parquet'))).rejects.toThrow('cannot be read as parquet')
  writeFileSync(join(dir, 'x.jsonl'), 'no json\n')
  const source = await openRows(join(dir, 'x.jsonl'))
  await expect(source.scan(new AbortController().signal).next()).rejects.toThrow('expected one JSON object per line')
})
