import { spawnSync } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

let dir = ''
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'ot-agent-own-stages-'))
  await cp(resolve('examples/stages'), join(dir, 'stages'), { recursive: true })
  await cp(resolve('examples/05-your-own-stages.ts'), join(dir, 'recipe.ts'))
})
afterAll(() => rm(dir, { recursive: true, force: true }))

/** Runs the program in another directory, so that paths must be resolved against the recipe's folder. */
function program(...words: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [resolve('bin/ot-agent.js'), ...words], {
    cwd: tmpdir(),
    encoding: 'utf8',
    env: { PATH: process.env.PATH ?? '', HOME: dir },
  })
  return { status, stdout, stderr }
}

async function edit(file: string, from: string, to: string): Promise<void> {
  const text = await readFile(join(dir, file), 'utf8')
  expect(text).toContain(from)
  await writeFile(join(dir, file), text.replace(from, to))
}

const run = (recipe = 'recipe.ts') => program('recipe', 'run', join(dir, recipe), '-o', join(dir, 'out'), '--json')
const linesOut = () => readFile(join(dir, 'out/out/text-file/lines.txt'), 'utf8')

test('one of every kind runs by its path, and the lock knows the code of each', async () => {
  const { status, stdout, stderr } = run()
  expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' })
  const { stages } = JSON.parse(stdout)
  expect(Object.fromEntries(stages.map((stage: { id: string; drops: object }) => [stage.id, stage.drops]))).toEqual({
    lines: {},
    'count-words': { empty: 1 },
    short: { 'too-long': 1 },
    'no-questions': { question: 1 },
    'one-each': { 'same-letter': 1 },
    'longest-first': { 'too-many': 1 },
  })
  expect(await linesOut()).toBe('Make hay while the sun shines.\nA stitch in time saves nine.\nLook before you leap.\n')
  const lock = JSON.parse(await readFile(join(dir, 'out/lock.json'), 'utf8'))
  expect(new Set(lock.stages.map(({ code }: { code: string }) => code)).size).toBe(7)
  for (const { code } of lock.stages) expect(code).toMatch(/^[0-9a-f]{64}$/)
})

test('changed code rebuilds its rows and those of later stages, and nothing else', async () => {
  const built = () =>
    [...run().stderr.matchAll(/^stage \d\/\d ([\w+ -]+): \d+ rows?, \d+s$/gm)].map(([, title]) => title)
  expect(built()).toEqual([])
  await edit('stages/one-each.ts', "left(fields->>'text', 1)", "left(fields->>'text', 2)")
  expect(built()).toEqual(['one-each', 'longest-first', 'text-file'])
  expect(await linesOut()).toContain('Little strokes fell great oaks.')
})

test.each([
  ['no such file', './stages/none.ts', {}, /stage none: .*none\.ts: expected a TypeScript or JavaScript file/],
  ['a name that is nearly right', './stages/shrot.ts', {}, /found none\nhint: did you mean .*stages\/short\.ts\?/],
  ['a long list', 'filters/tasks/verifed', {}, /unknown stage .*\nhint: did you mean filters\/tasks\/verified\?$/m],
  [
    'a file that is not there',
    './bad/reads.ts',
    {},
    /reads\.ts: expected a file at \/none\.txt, found nothing there\n/,
  ],
  ['an option it does not have', './stages/short.ts', { least: 3 }, /stage short: .*"least"[\s\S]*most/],
  ['no kind', './bad/kindless.ts', {}, /expected a stage with a kind, got none\n.*source, map, filter/],
  ['a path without a dot', 'stages/short.ts', {}, /unknown stage "stages\/short.ts"\nhint: .* \.\/stages\/short\.ts$/m],
  ['rows of no kind', './bad/rowless.ts', {}, /takes: expected raw, draft, task, trial or trace, got "tasks"/],
  ['a kind without its parts', './bad/partless.ts', {}, /expected a filter with takes and keep, got no keep/],
  ['a verdict that is no reason', './bad/shouts.ts', {}, /keep\(\) returned "NO!", expected true or the reason/],
  ['a bug', './bad/throws.ts', {}, /throws\.ts: Cannot read properties of undefined.*\n.*throws\.ts:5/],
])('%s ends in two lines that say where', async (_, use, options, told) => {
  const plugin = (made: string) =>
    `export default {\n  name: 'bad', summary: 'bad', options: { safeParse: (data) => ({ success: true, data }) },\n  make: () => (${made}),\n}\n`
  await rm(join(dir, 'bad'), { recursive: true, force: true })
  await cp(join(dir, 'stages'), join(dir, 'bad'), { recursive: true })
  await writeFile(join(dir, 'bad/kindless.ts'), plugin("{ takes: 'raw' }"))
  await writeFile(join(dir, 'bad/rowless.ts'), plugin("{ kind: 'filter', takes: 'tasks', keep: () => true }"))
  await writeFile(join(dir, 'bad/partless.ts'), plugin("{ kind: 'filter', takes: 'raw' }"))
  await writeFile(
    join(dir, 'bad/reads.ts'),
    `import { readFile } from 'node:fs/promises'\n${plugin("{ kind: 'filter', takes: 'raw', keep: () => readFile('/none.txt') }")}`,
  )
  await writeFile(join(dir, 'bad/shouts.ts'), plugin("{ kind: 'filter', takes: 'raw', keep: () => 'NO!' }"))
  await writeFile(
    join(dir, 'bad/throws.ts'),
    plugin("{ kind: 'filter', takes: 'raw',\n\n keep: (row) => row.fields.words.most.x\n }"),
  )
  const stages = [
    { use: './stages/lines.ts', with: { path: 'stages/proverbs.txt' } },
    { use, with: options },
  ]
  await writeFile(join(dir, 'bad.ts'), `export default ${JSON.stringify({ name: 'bad', stages })}\n`)
  const { status, stdout, stderr } = run('bad.ts')
  expect(status).toBe(2)
  expect(stdout).toBe('')
  expect(stderr).toMatch(told)
  expect(stderr).not.toMatch(/^ {4}at /m)
})

test('a run that leaves no row says which stage dropped the last one, and ends with 3', async () => {
  const stages = [
    { use: './stages/lines.ts', with: { path: 'stages/proverbs.txt' } },
    { use: './stages/count-words.ts' },
    { use: './stages/short.ts', with: { most: 1 } },
    { use: './stages/text-file.ts' },
  ]
  await writeFile(join(dir, 'empty.json'), JSON.stringify({ name: 'empty', stages }))
  const again = (...more: string[]) =>
    program('recipe', 'run', join(dir, 'empty.json'), '-o', join(dir, 'empty'), ...more)
  expect(again('--set', 'short.most=100').status).toBe(0)
  const lines = () => readFile(join(dir, 'empty/out/text-file/lines.txt'), 'utf8')
  const written = await lines()
  expect(written).not.toBe('')
  const { status, stdout, stderr } = again()
  expect(status, stderr).toBe(3)
  expect(stdout).toMatch(/text-file: no rows, so the dataset of an earlier run is kept\n$/)
  expect(await lines()).toBe(written)
  expect(JSON.parse(await readFile(join(dir, 'empty/manifest.json'), 'utf8'))).toMatchObject({ outputs: [] })
  expect(stderr).toMatch(/empty: short dropped every row\nhint: .* recipe explain .*empty --dropped short shows why/)
})
