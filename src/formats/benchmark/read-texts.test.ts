import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parquetWriteFile } from 'hyparquet-writer'
import { expect, test } from 'vitest'
import { makeTask, makeTempDir, writeTree } from '../../../test/make-task.ts'
import { packTasks } from '../task-parquet/pack-tasks.ts'
import { readBenchmarkTexts } from './read-texts.ts'

const both = [
  { id: 'a', instruction: 'Do this.' },
  { id: 'b', instruction: 'Do that.' },
]

test('folders of Harbor tasks are read, with steps and without canary lines', async () => {
  const dir = await makeTempDir()
  await writeTree(dir, {
    'a/task.toml': '',
    'a/instruction.md': '<!-- benchmark data, canary 123 -->\nDo this.',
    'b/task.toml': '',
    'b/steps/1-first/instruction.md': 'Do that.',
    'b/steps/2-then/instruction.md': 'And more.',
    'README.md': 'Not a task.',
  })
  expect(await readBenchmarkTexts(dir)).toEqual([both[0], { id: 'b', instruction: 'Do that.\nAnd more.' }])
  expect(await readBenchmarkTexts(join(dir, 'a'))).toEqual([both[0]])
})

test('folders of Terminal-Bench tasks are read', async () => {
  const dir = await makeTempDir()
  await writeTree(dir, {
    'a/task.yaml': 'instruction: |\n  Do this.\n',
    'b/task.yaml': 'descriptions: [{key: base, description: Do that.}]\n',
  })
  const texts = await readBenchmarkTexts(dir)
  expect(texts.map(({ id, instruction }) => ({ id, instruction: instruction.trim() }))).toEqual(both)
})

test('a parquet file of packed tasks is read', async () => {
  const file = join(await makeTempDir(), 'tasks.parquet')
  await packTasks([{ path: 'one', dir: await makeTask() }], file, {})
  expect(await readBenchmarkTexts(file)).toEqual([
    { id: 'one', instruction: 'Write the word done to /app/done.txt.\n' },
  ])
})

test('rows are read from JSON lines, lists, lines in a .json file, CSV and parquet', async () => {
  const dir = await makeTempDir()
  const lines = both.map((row) => JSON.stringify(row)).join('\n')
  const csv = 'id,instruction\na,Do this.\nb,Do that.\n'
  const files = {
    'a.jsonl': lines,
    'b.json': JSON.stringify(both),
    'c.json': lines,
    'd.csv': csv,
    'e.tsv': csv.replaceAll(',', '\t'),
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text)
  const columnData = (['id', 'instruction'] as const).map((name) => ({
    name,
    data: both.map((row) => row[name]),
    type: 'STRING' as const,
  }))
  parquetWriteFile({ filename: join(dir, 'f.parquet'), columnData })
  for (const name of [...Object.keys(files), 'f.parquet'])
    expect(await readBenchmarkTexts(join(dir, name)), name).toEqual(both)
  expect(await readBenchmarkTexts(dir, { files: ['{a,x}.jsonl'] })).toEqual(both)
})

test('of a conversation only what users say is read, and rows without a name are numbered', async () => {
  const file = join(await makeTempDir(), 'chat.jsonl')
  const turns = [
    [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'What is it?' },
    ],
    [{ role: 'user', content: 'And now?' }],
  ]
  await writeFile(file, `${JSON.stringify({ question: turns })}\n`)
  expect(await readBenchmarkTexts(file)).toEqual([{ id: '0001', instruction: 'What is it?\nAnd now?' }])
})

test.each([
  ['nothing there', 'none', '', {}, /found nothing there/],
  ['no rows', 'rows.jsonl', '\n', {}, /expected tasks, found none/],
  [
    'other columns',
    'rows.jsonl',
    '{"foo": 1, "bar": "x"}\n',
    {},
    /expected a column with the text of a task, found foo, bar/,
  ],
  [
    'a column that is not there',
    'rows.jsonl',
    '{"foo": 1, "text": "x"}\n',
    { text: 'prompt' },
    /expected the column prompt, found foo, text/,
  ],
  [
    'a name that is not there',
    'rows.jsonl',
    '{"foo": 1, "text": "x"}\n',
    { id: 'key' },
    /expected the column key, found foo, text/,
  ],
  ['an empty text', 'rows.jsonl', '{"id": "a", "text": " "}\n', {}, /line 1: the column text holds no text/],
  ['broken JSON', 'rows.jsonl', '{"id": "a", "te\n', {}, /line 1: expected JSON/],
  ['another kind of file', 'rows.txt', 'hello', {}, /expected a file that ends in/],
])('%s is refused', async (_, name, text, choice, message) => {
  const dir = await makeTempDir()
  if (text !== '') await writeFile(join(dir, name), text)
  await expect(readBenchmarkTexts(join(dir, name), choice)).rejects.toThrow(message)
})
