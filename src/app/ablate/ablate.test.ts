import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { UserError } from '../../core/errors.ts'
import { changeRecipe, withoutStages } from '../recipe/change-recipe.ts'
import { type Cell, labelOf } from './cells.ts'
import { packCells, unpackCells } from './pack.ts'
import { planStudy } from './plan.ts'
import { reportStudy } from './report.ts'
import { type CellState, type RunCells, runCells } from './run.ts'
import type { StartedCommand } from './run-commands.ts'
import { searchStudy } from './search.ts'
import { loadStudy } from './study.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-agent-ablate-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const stages = [
  { id: 'tasks', use: 'sources/task-folder', with: { path: resolve('examples/tasks') } },
  { id: 'sample', use: 'filters/tasks/random', with: { keep: 6 } },
  { id: 'prompts', use: 'exporters/rl', with: { trainers: ['trl'], validation: 0 } },
]
writeFileSync(join(scratch, 'recipe.mjs'), `export default ${JSON.stringify({ name: 'small', seed: 1, stages })}\n`)

/**
 * Stands in for a training run: its score depends on the variant, the seed and the task. Each run adds a line to
 * `trained.txt`.
 */
const train = `
const [dataset, out, variant, size, seed, here] = process.argv.slice(1)
const fs = require('node:fs')
fs.appendFileSync(here + '/trained.txt', variant + ' ' + size + ' ' + seed + '\\n')
if (fs.existsSync(here + '/broken-' + variant)) process.exit(7)
const skill = { two: 0.1, six: 0.9 }[variant] ?? 0.5
const tasks = {}
for (let i = 0; i < 20; i++) tasks['t' + i] = [i / 20 < skill ? 1 : 0]
fs.writeFileSync(out + '/result.json', JSON.stringify({ tasks, values: { files: fs.readdirSync(dataset).length } }))
`
const study = {
  schema: 'ablation/1',
  name: 'small',
  recipe: 'recipe.mjs',
  baseline: 'two',
  variants: { two: { set: { 'sample.keep': 2 } }, six: {}, again: { set: { 'sample.keep': 6 } } },
  factors: { size: ['m'] },
  seeds: 2,
  outcome: {
    commands: [[process.execPath, '-e', train, '{dataset}', '{out}', '{variant}', '{size}', '{seed}', '{here}']],
  },
}

let written = 0
async function load(changes: object) {
  const file = join(scratch, `study-${++written}.json`)
  writeFileSync(file, JSON.stringify({ ...study, ...changes }))
  return loadStudy(file)
}

const follower = { trials: { notify: () => {} }, signal: new AbortController().signal }

async function run(changes: object, asked: Omit<RunCells, 'dir'>, dir: string): Promise<CellState[]> {
  return runCells(await load(changes), { dir, ...asked }, follower)
}

function trained(): string[] {
  const path = join(scratch, 'trained.txt')
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').sort() : []
  rmSync(path, { force: true })
  return lines
}

describe('the file of an ablation', () => {
  const wrong: readonly (readonly [title: string, changes: object, message: RegExp, hint: RegExp])[] = [
    ['a mistyped key', { varients: {} }, /varients is not a known key/, /did you mean variants\?/],
    ['an unknown baseline', { baseline: 'three' }, /baseline: unknown variant "three"/, /two, six, again/],
    [
      'two outcomes',
      { outcome: { teacher: 'x', rows: { measure: 'turns' } } },
      /outcome: expected exactly one of/,
      /ablations\.md/,
    ],
    ['a factor without a use', { factors: { size: [1], width: [1] } }, /\{width\} is not used/, /set/],
    [
      'a mistyped name in a command',
      { outcome: { commands: [['x', '{sed}', '{size}', '{seed}']] } },
      /\{sed\} is not known/,
      /did you mean \{seed\}\?/,
    ],
    ['a seed that stands there twice', { seeds: [1, 1] }, /seeds: .*expected each value once/, /ablations\.md/],
    ['a value of a factor twice', { factors: { size: [1, '1'] } }, /factors\.size: .*each value once/, /ablations\.md/],
    [
      'seeds that change nothing',
      { outcome: { commands: [['x', '{size}']] } },
      /no command uses \{seed\}/,
      /seedsOf: recipe/,
    ],
    [
      'an unknown stage',
      { variants: { two: { remove: ['sampel'] } } },
      /variant two: unknown stage "sampel"/,
      /sample/,
    ],
    [
      'an unknown option',
      { variants: { two: { set: { 'sample.kep': 2 } } } },
      /variant two: .*stage sample: .*kep/,
      /./,
    ],
  ]
  test.each(wrong)('%s is refused by name', async (_, changes, message, hint) => {
    const dir = join(scratch, 'refused')
    const attempt = run(changes, {}, dir)
    await expect(attempt).rejects.toThrow(message)
    await expect(attempt).rejects.toBeInstanceOf(UserError)
    await expect(attempt.catch((error: UserError) => error.hint)).resolves.toMatch(hint)
    expect(existsSync(dir)).toBe(false)
  })

  test('a grid makes a variant of every combination; more than a hundred can be planned', async () => {
    const grid = { 'sample.keep': Array.from({ length: 60 }, (_, i) => i + 1), seed: [1, 2] }
    const many = await load({ variants: {}, baseline: undefined, grid })
    expect(many.variants).toHaveLength(120)
    expect(many.variants[1]?.name).toBe('keep=1,seed=2')
    const plan = await planStudy(many, { dir: join(scratch, 'none'), offline: true })
    expect([plan.cells, plan.recipes, plan.tests]).toEqual([240, 120, 119])
    expect(plan.stages.map(({ id, versions }) => [id, versions])).toEqual([
      ['tasks', 2],
      ['sample', 120],
      ['prompts', 120],
    ])
  })
})

describe('changes of a recipe', () => {
  const recipe = {
    name: 'x',
    stages: [
      { id: 'a', use: 'sources/task-folder' },
      { id: 'b', use: 'filters/tasks/random', from: 'a' },
      { id: 'c', use: 'mixers/weighted', from: ['a', 'b'] },
    ],
  }
  const none = { remove: [], replace: {}, add: [], set: {} }
  test('what took the rows of a removed stage takes those above it', () => {
    expect(withoutStages(recipe, ['b']).stages[1]).toEqual({ id: 'c', use: 'mixers/weighted', from: ['a', 'a'] })
  })
  test('an added stage stands between a stage and what took its rows', () => {
    const added = changeRecipe(recipe, { ...none, add: [{ after: 'b', id: 'n', use: 'filters/tasks/random' }] }, 'x')
    expect(added.stages.slice(2)).toEqual([
      { from: 'b', id: 'n', use: 'filters/tasks/random' },
      { id: 'c', use: 'mixers/weighted', from: ['a', 'n'] },
    ])
  })
  test('an added source stands where it is put, and takes no rows', () => {
    const add = [{ after: 'a', id: 's', use: 'sources/task-folder', from: [] }]
    const { stages: changed } = changeRecipe(recipe, { ...none, add }, 'x')
    expect(changed[1]).toEqual({ id: 's', use: 'sources/task-folder' })
    expect(changed[2]).toEqual(recipe.stages[1])
  })
  test('a replaced stage keeps its id and its inputs', () => {
    const changed = changeRecipe(recipe, { ...none, replace: { b: { use: 'filters/tasks/verified' } } }, 'x')
    expect(changed.stages[1]).toEqual({ id: 'b', use: 'filters/tasks/verified', from: 'a' })
  })
})

describe('a run of cells', () => {
  test('cells are run once each, one that fails stops no other, and the next run does what is missing', async () => {
    const dir = join(scratch, 'run')
    mkdirSync(dir, { recursive: true })
    writeFileSync(join(scratch, 'broken-six'), '')
    const first = await run({}, { concurrency: 3 }, dir)
    expect(first.filter(({ state }) => state === 'failed').map(({ cell }) => cell.variant)).toEqual(
      Array(2).fill('six'),
    )
    expect(first.find(({ state }) => state === 'failed')?.reason).toMatch(/ended with 7 .*log\.txt/)
    expect(trained()).toHaveLength(6)
    // The datasets of `six` and `again` have the same rows.
    expect(readdirSync(join(dir, 'data/stages')).filter((name) => name.startsWith('sample-'))).toHaveLength(2)

    const partial = await reportStudy(await load({}), dir)
    expect(partial.missing).toHaveLength(2)
    expect(partial.rows.find(({ variant }) => variant === 'six')?.comparison).toBeNull()

    rmSync(join(scratch, 'broken-six'))
    const made: unknown[] = []
    const second = await runCells(await load({}), { dir }, { ...follower, onGroup: (group) => made.push(group) })
    expect(second.every(({ state }) => state === 'done')).toBe(true)
    expect(trained()).toEqual(['six m 1', 'six m 2'])
    // Cells that failed still have their datasets: no recipe writes them again.
    expect(made).toEqual([])

    const report = await reportStudy(await load({}), dir)
    expect(report).toMatchObject({ tests: 2, scale: 'share', missing: [], seeds: 2 })
    const [row] = report.rows.filter(({ variant, factors }) => variant === 'six' && factors.size === 'm')
    expect(row?.comparison?.difference.mean).toBeCloseTo(0.8)
    expect(row?.comparison?.verdict).toBe('better')
    expect(row?.values.files).toBeGreaterThan(0)

    // A different command makes a different cell; --only leaves the others alone.
    const words = study.outcome.commands[0] ?? []
    const changed = { outcome: { commands: [[...words, 'more']] } }
    const third = await run(changed, { only: ['t*'] }, dir)
    expect(third.map(({ cell }) => labelOf(cell))).toEqual(['two size=m seed=1', 'two size=m seed=2'])
    await expect(run({}, { only: ['x'] }, dir)).rejects.toThrow(/--only x: no variant/)
  })

  test('cells whose commands and datasets are equal are run once', async () => {
    trained()
    const words = (study.outcome.commands[0] ?? []).map((word) => (word === '{variant}' ? 'any' : word))
    const changes = { outcome: { commands: [words] }, factors: { size: ['s'] }, seeds: [5] }
    const states = await run(changes, {}, join(scratch, 'equal'))
    expect(new Set(states.map(({ id }) => id)).size).toBe(2)
    expect(states.map(({ state }) => state)).toEqual(['done', 'done', 'done'])
    expect(trained()).toHaveLength(2)
  })

  test('the plan names a missing task set, which fails only its variant', async () => {
    const [repo, path] = [`file:${join(scratch, 'no-set')}`, join(scratch, 'no-folder')]
    const variants = {
      two: { set: { 'sample.keep': 2 } },
      hub: { replace: { tasks: { use: 'sources/hub-tasks', with: { repo } } } },
      folder: { replace: { tasks: { use: 'sources/task-folder', with: { path } } } },
    }
    const { missing } = await planStudy(await load({ variants }), { dir: join(scratch, 'none'), offline: true })
    expect(missing.map(({ what }) => what)).toEqual([
      expect.stringContaining('no-set'),
      expect.stringContaining('no-folder'),
    ])
    expect(missing.every(({ provide }) => provide !== '')).toBe(true)
    trained()
    const states = await run({ variants, seeds: [1] }, {}, join(scratch, 'absent'))
    expect(states.map(({ cell, state }) => [cell.variant, state])).toEqual([
      ['hub', 'failed'],
      ['folder', 'failed'],
      ['two', 'done'],
    ])
    expect(states[0]?.reason).toMatch(/no-set/)
    expect(states[1]?.reason).toMatch(/no-folder/)
    expect(trained()).toEqual(['two m 1'])
  })

  test('a variant without rows fails, and is not measured on the dataset of another', async () => {
    trained()
    const none = {
      add: [{ after: 'sample', id: 'none', use: 'filters/tasks/signal-range', with: { signal: 'unknown', least: 1 } }],
    }
    const variants = { two: { set: { 'sample.keep': 2 } }, none }
    const states = await run({ variants, seeds: [1] }, {}, join(scratch, 'empty'))
    expect(states.map(({ cell, state }) => [cell.variant, state]).sort()).toEqual([
      ['none', 'failed'],
      ['two', 'done'],
    ])
    expect(states.find(({ state }) => state === 'failed')?.reason).toMatch(/^stage prompts: .* got none /)
    expect(trained()).toEqual(['two m 1'])
  })

  test('a variant that was changed and then fails shows no result of what it was before', async () => {
    const dir = join(scratch, 'changed')
    const sixth = (six: object) => ({ variants: { ...study.variants, six }, seeds: [1] })
    const reported = async (changes: object) => (await reportStudy(await load(changes), dir)).missing
    await run({ seeds: [1] }, {}, dir)
    expect(await reported({ seeds: [1] })).toEqual([])

    // Its source is gone, so the dataset cannot be identified.
    const source = { use: 'sources/task-folder', with: { path: join(scratch, 'gone') } }
    const gone = sixth({ replace: { tasks: source } })
    const states = await run(gone, {}, dir)
    expect(states.map(({ cell, state }) => [cell.variant, state])).toContainEqual(['six', 'failed'])
    expect(await reported(gone)).toEqual([{ cell: 'six size=m seed=1', reason: expect.stringMatching(/gone.*found/) }])

    // A stage fails while it makes the dataset.
    const none = { use: 'filters/tasks/signal-range', with: { signal: 'unknown', least: 1 } }
    const empty = sixth({ add: [{ after: 'sample', ...none }] })
    await run(empty, {}, dir)
    expect(await reported(empty)).toEqual([{ cell: 'six size=m seed=1', reason: expect.stringMatching(/got none/) }])

    trained()
    await run({ seeds: [1] }, {}, dir)
    expect(await reported({ seeds: [1] })).toEqual([])
    expect(trained()).toEqual([])
  })

  test('a variant that is as it was keeps its result while its source cannot be read', async () => {
    const [dir, path] = [join(scratch, 'unplugged'), join(scratch, 'unplugged-tasks')]
    const changes = { variants: { two: {} }, seeds: [1], set: { 'tasks.path': path } }
    symlinkSync(resolve('examples/tasks'), path)
    await run(changes, {}, dir)
    rmSync(path)
    expect((await run(changes, {}, dir)).map(({ state }) => state)).toEqual(['failed'])
    expect((await reportStudy(await load(changes), dir)).missing).toEqual([])
    expect(trained()).toEqual(['two m 1'])
  })

  test('datasets can be made first, and the commands run later without the recipe', async () => {
    const dir = join(scratch, 'stages')
    const sizes = { factors: { size: ['s', 'm'] } }
    const made = await run(sizes, { stage: 'data', only: ['two'] }, dir)
    expect(made.map(({ state }) => state)).toEqual(Array(4).fill('ready'))
    expect(trained()).toEqual([])
    rmSync(join(dir, 'data'), { recursive: true })
    const done = await run(sizes, { stage: 'outcome', only: ['two'] }, dir)
    expect(done.map(({ state }) => state)).toEqual(Array(4).fill('done'))
    expect(existsSync(join(dir, 'data'))).toBe(false)
    const other = { outcome: { commands: [['true', '{size}', '{seed}']] } }
    rmSync(join(dir, 'cells', done.at(-1)?.id ?? '', 'result.json'))
    await expect(run(other, { stage: 'outcome' }, dir)).rejects.toThrow(/its commands differ from those in/)
  })

  test('commands that run when another recipe is cut short have ended before the run has', async () => {
    // A stage that waits for the command of another cell, and then for ever.
    const begun = join(scratch, 'begun')
    const source = `import { existsSync } from 'node:fs'
export default { kind: 'map', takes: 'task', gives: 'task', async *run(rows, { signal }) {
  for (;;) {
    signal.throwIfAborted()
    await new Promise((resolve) => setTimeout(resolve, 20))
    if (existsSync(${JSON.stringify(begun)})) globalThis.stopAblation?.()
  }
} }
`
    writeFileSync(join(scratch, 'endless.mjs'), source)
    const saves = `trap 'sleep 1; echo saved > "$1/saved"; exit 0' TERM; touch ${begun}; while :; do sleep 0.1; done`
    const changes = {
      variants: { two: {}, six: { add: [{ after: 'sample', id: 'wait', use: './endless.mjs' }] } },
      factors: {},
      seeds: [1],
      outcome: { commands: [['bash', '-c', saves, 'bash', '{out}', '{seed}']] },
    }
    const stop = new AbortController()
    Object.assign(globalThis, { stopAblation: () => stop.abort() })
    const dir = join(scratch, 'cut')
    const cut = runCells(await load(changes), { dir }, { ...follower, signal: stop.signal })
    await expect(cut).rejects.toMatchObject({ name: 'AbortError' })
    const saved = readdirSync(join(dir, 'cells')).map((id) => existsSync(join(dir, 'cells', id, 'out/saved')))
    expect(saved).toContain(true)
  })

  test('each command is told as it starts, with the file of its output', async () => {
    const told: unknown[] = []
    const onCommand = (cell: Cell, { at, of, log }: StartedCommand) =>
      told.push([cell.variant, at, of, existsSync(log)])
    const dir = join(scratch, 'told')
    const changes = {
      ...{ variants: { two: {} }, factors: {}, seeds: [1] },
      outcome: { commands: [['true', '{seed}'], ['false']] },
    }
    const [state] = await runCells(await load(changes), { dir }, { ...follower, onCommand })
    expect(state?.state).toBe('failed')
    expect(told).toEqual([
      ['two', 0, 2, false],
      ['two', 1, 2, true],
    ])
  })

  test('commands that came with a cell are not run where they are not those of the ablation', async () => {
    const dir = join(scratch, 'hostile')
    const [cell] = await run({ seeds: [1] }, { stage: 'data', only: ['two'] }, dir)
    const file = join(dir, 'cells', cell?.id ?? '', 'cell.json')
    const hostile = { ...JSON.parse(readFileSync(file, 'utf8')), commands: [['touch', join(scratch, 'hacked')]] }
    writeFileSync(file, JSON.stringify(hostile))
    trained()
    const states = await run({ seeds: [1] }, { only: ['two'] }, dir)
    expect(states.map(({ state }) => state)).toEqual(['done'])
    expect(trained()).toEqual(['two m 1'])
    expect(existsSync(join(scratch, 'hacked'))).toBe(false)
  })

  test('cells move to another machine with their datasets, and back with their results', async () => {
    const [here, there] = [join(scratch, 'here'), join(scratch, 'there')]
    const only = ['two', 'six']
    await run({}, { stage: 'data', only }, here)
    trained()
    const file = join(scratch, 'cells.tar.gz')
    expect(await packCells(here, file)).toEqual({ finished: 0, ready: 4 })
    const packed = execFileSync('tar', ['-tzf', file], { encoding: 'utf8' })
    expect(packed.match(/dataset\/\.receipt\.json/g)).toHaveLength(2)
    expect(await unpackCells(file, there)).toEqual({ finished: 0, ready: 4 })
    const done = await run({}, { stage: 'outcome', only }, there)
    expect(done.every(({ state }) => state === 'done')).toBe(true)
    expect(trained()).toHaveLength(4)
    const back = join(scratch, 'back.tar.gz')
    expect(await packCells(there, back)).toEqual({ finished: 4, ready: 0 })
    expect(statSync(back).size).toBeLessThan(20_000)
    expect(await unpackCells(back, here)).toEqual({ finished: 4, ready: 0 })
    const again = await run({}, { only }, here)
    expect(again.every(({ cached }) => cached)).toBe(true)
    expect(trained()).toEqual([])
    expect((await reportStudy(await load({}), here)).missing).toHaveLength(2)

    writeFileSync(join(scratch, 'no.tar.gz'), 'this is no pack')
    await expect(unpackCells(join(scratch, 'no.tar.gz'), there)).rejects.toBeInstanceOf(UserError)
    await expect(unpackCells(join(scratch, 'none.tar.gz'), there)).rejects.toThrow(/found nothing/)
    expect(readdirSync(there).sort()).toEqual(['cells', 'cells.json'])
  })
})

describe('a search', () => {
  /** The more tasks the dataset has, the more tasks of the evaluation are solved. */
  const evaluation = `
const [dataset, out, size, seed] = process.argv.slice(1)
const fs = require('node:fs')
const { counts } = JSON.parse(fs.readFileSync(dataset + '/.receipt.json'))
const skill = counts.train / 12
const tasks = {}
for (let i = 0; i < size; i++) tasks['t' + i] = ((i * 0.618) % 1) < skill ? 1 : 0
fs.writeFileSync(out + '/result.json', JSON.stringify({ tasks, values: { kept: counts.train } }))
`
  const search = {
    space: { 'sample.keep': [1, 12, 12, 12] },
    ...{ candidates: 5, seed: 4, factor: 'size', levels: [20, 60], budget: 240 },
  }
  const changes = {
    ...{ variants: {}, baseline: undefined, factors: {}, seeds: undefined, search },
    outcome: { commands: [[process.execPath, '-e', evaluation, '{dataset}', '{out}', '{size}', '{seed}']] },
  }

  test('drops what is worse by its interval, and by the budget only what has no room', async () => {
    const dir = join(scratch, 'search')
    const found = await searchStudy(await load(changes), { dir }, follower)
    const [first, second] = found.rounds
    expect(first?.variants.map(({ variant }) => variant)).toEqual(['base', 'c1', 'c2', 'c3', 'c4', 'c5'])
    expect(first?.cost).toBe(120)
    const dropped = (by: string | null) => first?.variants.filter((each) => each.dropped === by) ?? []
    const keep = ({ set }: { readonly set: Readonly<Record<string, unknown>> }) => set['sample.keep'] ?? 6
    // 120 remain for the last round: room for two at 60 each.
    expect(dropped('interval').map(keep).sort()).toEqual([1, 1, 6])
    for (const { behind } of dropped('interval')) expect(behind?.low).toBeGreaterThan(0)
    expect(dropped('budget').map(keep)).toEqual([12])
    expect(dropped(null).map(keep)).toEqual([12, 12])
    expect(second?.variants.map(({ variant }) => variant)).toEqual(dropped(null).map(({ variant }) => variant))
    expect([found.spent, found.ended, found.left.length]).toEqual([240, 'levels', 2])

    // Running it again finds every cell finished, and decides the same.
    const again = await searchStudy(
      await load(changes),
      { dir },
      { ...follower, onCell: ({ cached }) => expect(cached).toBe(true) },
    )
    expect(again).toEqual(found)
  })

  test('without a budget to force it, what cannot be told from the best stays', async () => {
    const near = { ...search, space: { 'sample.keep': [11, 12] }, levels: [10], budget: 1000, candidates: 3 }
    const found = await searchStudy(await load({ ...changes, search: near }), { dir: join(scratch, 'near') }, follower)
    expect(found.ended).toBe('levels')
    expect(found.left).toEqual(expect.arrayContaining(['c1', 'c2', 'c3']))
  })

  test('a budget that is too small for the first round is refused', async () => {
    const small = { ...changes, search: { ...search, budget: 100 } }
    const attempt = searchStudy(await load(small), { dir: join(scratch, 'small') }, follower)
    await expect(attempt).rejects.toThrow(/the first of 2 rounds needs 120, but a budget of 100 leaves it 50/)
  })
})
