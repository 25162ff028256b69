import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { until } from '../slurm-cluster.ts'
import { tempDir } from '../trees.ts'

const atOnce = 4
/** Every eight of them share a dataset. */
const variants = Array.from({ length: 104 }, (_, i) => ({ name: `v${i}`, keep: Math.floor(i / 8) + 1 }))
const names = variants.map(({ name }) => name)

/** A variant's outcome: appends a line to a file each time it runs, and writes a score. */
const measure = `echo "$2" >> "$3/measured.txt"; echo '{"tasks":{"one":[1],"two":[0]}}' > "$1/result.json"`

test('an ablation of more than a hundred variants that is killed runs no finished variant again', async () => {
  const dir = await tempDir()
  const stages = [
    { id: 'tasks', use: 'sources/task-folder', with: { path: resolve('examples/tasks') } },
    { id: 'sample', use: 'filters/tasks/random', with: { keep: 1 } },
    { id: 'prompts', use: 'exporters/rl', with: { trainers: ['trl'], validation: 0 } },
  ]
  writeFileSync(join(dir, 'recipe.mjs'), `export default ${JSON.stringify({ name: 'many', seed: 1, stages })}\n`)
  const study = {
    ...{ schema: 'ablation/1', name: 'many', recipe: 'recipe.mjs' },
    variants: Object.fromEntries(variants.map(({ name, keep }) => [name, { set: { 'sample.keep': keep } }])),
    outcome: { commands: [['sh', '-c', measure, 'sh', '{out}', '{variant}', '{here}']] },
  }
  const file = join(dir, 'study.json')
  writeFileSync(file, JSON.stringify(study))
  const out = join(dir, 'out')
  const start = (...words: string[]) => {
    const args = [resolve('bin/ot-agent.js'), 'ablate', ...words, file, '-o', out]
    const env = { ...process.env, XDG_STATE_HOME: join(dir, 'state') }
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { child, ended: ended.then(([stdout, stderr, [status]]) => ({ status, stdout, stderr })) }
  }
  const run = (...words: string[]) => start('run', '-n', String(atOnce), '--quiet', ...words)
  const measured = () =>
    existsSync(join(dir, 'measured.txt')) ? readFileSync(join(dir, 'measured.txt'), 'utf8').trim().split('\n') : []

  const { child, ended: killed } = run()
  await until('40 variants', () => measured().length >= 40, 240)
  child.kill('SIGKILL')
  await killed
  const finished = new Set(finishedIn(out))
  expect(finished.size).toBeGreaterThan(30)
  expect(finished.size).toBeLessThan(variants.length)

  const { status, stdout, stderr } = await run('--json').ended
  expect(status, stderr).toBe(0)
  const { cells }: { cells: { cell: { variant: string }; state: string; cached: boolean }[] } = JSON.parse(stdout)
  expect(cells.map(({ cell }) => cell.variant).sort()).toEqual([...names].sort())
  expect(cells.filter(({ state }) => state !== 'done')).toEqual([])
  const cached = cells.filter((cell) => cell.cached).map(({ cell }) => cell.variant)
  expect(cached.sort()).toEqual([...finished].sort())

  const times = (variant: string) => measured().filter((line) => line === variant).length
  expect([...finished].filter((variant) => times(variant) !== 1)).toEqual([])
  expect(names.filter((variant) => times(variant) === 0)).toEqual([])
  // A kill may hit commands that have written their line but are not yet recorded as finished; no others run twice.
  expect(measured().length).toBeLessThanOrEqual(variants.length + atOnce)

  const report = await start('report', '--json').ended
  expect(report.status, report.stderr).toBe(0)
  expect(JSON.parse(report.stdout)).toMatchObject({ tests: variants.length - 1, missing: [] })
})

/** Variants with a result on disk. */
function finishedIn(out: string): string[] {
  const index: { cells: { variant: string; id: string }[] } = JSON.parse(readFileSync(join(out, 'cells.json'), 'utf8'))
  const done = readdirSync(join(out, 'cells')).filter((id) => existsSync(join(out, 'cells', id, 'result.json')))
  return index.cells.filter(({ id }) => done.includes(id)).map(({ variant }) => variant)
}
