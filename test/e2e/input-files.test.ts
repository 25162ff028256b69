import { execFile } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { scratch } from './kit.ts'

const dir = join(scratch, 'inputs')
mkdirSync(join(dir, 'rows'), { recursive: true })
const env = { PATH: process.env.PATH, HOME: scratch, XDG_CACHE_HOME: join(scratch, 'cache') }

async function ot(...words: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const run = promisify(execFile)(process.execPath, [resolve('bin/ot-agent.js'), ...words], { cwd: dir, env })
  return run.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  )
}

test('a recipe reads a folder of CSV and XLSX, and makes its tasks again when a file is added or changed', async () => {
  copyFileSync('test/fixtures/records/xlsxwriter.xlsx', join(dir, 'rows', 'b.xlsx'))
  writeFileSync(join(dir, 'rows', 'a.csv'), 'id,text,hours\nfirst,hello,3\n')
  const stages = [
    { id: 'rows', use: 'sources/file', with: { path: 'rows', id: 'id' } },
    {
      id: 'tasks',
      use: 'makers/row-template',
      with: { instruction: 'Write {{text}} into a file.', answer: { field: 'text' } },
    },
  ]
  writeFileSync(join(dir, 'recipe.json'), JSON.stringify({ name: 'many-files', seed: 1, stages }))
  const instructions = async () => {
    const { code, stdout, stderr } = await ot('recipe', 'run', 'recipe.json', '--json')
    expect(code, stderr).toBe(0)
    const { dir: run } = JSON.parse(stdout)
    expect(existsSync(run), stdout).toBe(true)
    const tasks = JSON.parse(readFileSync(join(run, 'manifest.json'), 'utf8')).steps.find(
      (step: { id: string }) => step.id === 'tasks',
    )
    const { stdout: head } = await ot('traces', 'head', join(run, tasks.dir), '--json', '-n', '20')
    return head
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).instruction.split('\n')[0])
  }
  expect(await instructions()).toEqual(['hello', 'plain', 'SAVED'].map((text) => `Write ${text} into a file.`))
  writeFileSync(join(dir, 'rows', 'c.csv'), 'id,text,hours\nlast,added,1\n')
  expect(await instructions()).toHaveLength(4)
  writeFileSync(join(dir, 'rows', 'a.csv'), 'id,text,hours\nfirst,changed,3\n')
  expect((await instructions())[0]).toBe('Write changed into a file.')
  renameSync(join(dir, 'rows', 'c.csv'), join(dir, 'rows', '0.csv'))
  expect((await instructions())[0]).toBe('Write added into a file.')
  writeFileSync(join(dir, 'rows', 'd.csv'), 'id,words\nx,y\n')
  const refused = await ot('recipe', 'run', 'recipe.json')
  expect(refused.code).toBe(2)
  expect(refused.stderr).toContain('d.csv: expected the columns of')
})

test('commands take a pattern where they take a file', async () => {
  const tasks = resolve('examples/tasks')
  const [one = '', two = ''] = readdirSync(tasks)
  await ot('tasks', 'pack', join(tasks, one), '--out', 'packs/a.parquet')
  await ot('tasks', 'pack', join(tasks, two), '--out', 'packs/b.parquet')
  const unpacked = await ot('tasks', 'unpack', 'packs/*.parquet', '--out', 'unpacked')
  expect(unpacked.code, unpacked.stderr).toBe(0)
  expect(readdirSync(join(dir, 'unpacked')).sort()).toEqual([one, two].sort())
  for (const flag of ['-p', '-d']) {
    const planned = await ot('run', flag, 'packs/*.parquet', '-a', 'nop', '--print-config')
    expect(planned.code, planned.stderr).toBe(0)
    expect(planned.stdout).toContain('packs/*.parquet')
  }
  mkdirSync(join(dir, 'chats'))
  const chat = (text: string) => JSON.stringify({ messages: [{ role: 'user', content: text }] })
  writeFileSync(join(dir, 'chats', '1.jsonl'), `${chat('one')}\n`)
  writeFileSync(join(dir, 'chats', '2.jsonl'), `${chat('two')}\n`)
  const head = await ot('traces', 'head', 'chats/*.jsonl')
  expect(head.stdout).toMatch(/one[\s\S]*two/)
  const packed = await ot(
    'benchmarks',
    'pack',
    'mine',
    '--from',
    'rows/{0,a}.csv',
    '--text-column',
    'text',
    '--out',
    'x',
  )
  expect(packed.stdout).toContain('packed 2 tasks')
})

test.each([
  ['traces', 'head', 'none/*.jsonl'],
  ['traces', 'stats', 'none/*.parquet'],
  ['traces', 'replay', 'none/*.parquet'],
  ['tasks', 'unpack', 'none/*.parquet', '--out', 'nowhere'],
  ['benchmarks', 'pack', 'mine', '--from', 'none/*.csv', '--out', 'nowhere'],
])('%s %s says in two lines that a pattern matches nothing', async (...words) => {
  const { code, stdout, stderr } = await ot(...words)
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(/^error: .*none\/\*.* the pattern matches no file\nhint: .+\n$/)
  expect(existsSync(join(dir, 'nowhere'))).toBe(false)
})

test('a pipeline with nothing to make tasks of says why, and where the reasons are', async () => {
  const pipeline = `import { definePipeline } from 'ot-agent'
export default definePipeline({
  name: 'none',
  summary: 'Drops every row',
  source: { fixture: { use: 'sources/file', with: { path: 'none.csv', id: 'id' } }, real: null },
  make: ({ id }) => ({ drop: 'never', id }),
})
`
  writeFileSync(join(dir, 'none.ts'), pipeline)
  writeFileSync(join(dir, 'none.csv'), 'id,text\n')
  const empty = await ot('generate', 'none.ts', '--no-decontaminate')
  expect(empty).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/found none\nhint: check that the source is not empty/),
  })
  writeFileSync(join(dir, 'none.csv'), 'id,text\na,x\n')
  const dropped = await ot('generate', 'none.ts', '--no-decontaminate', '--output-dir', 'dropped')
  expect(dropped.code).toBe(3)
  expect(dropped.stderr).toMatch(/none of 1 rows \(never 1\)\nhint: dropped\/rejects\.jsonl lists the reason/)
  const rows = await ot('generate', 'none.csv')
  expect(rows).toMatchObject({ code: 2, stderr: expect.stringContaining('generate PIPELINE --source none.csv') })
})
