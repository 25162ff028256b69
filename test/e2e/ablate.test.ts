import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { scratch, withSandboxes } from './kit.ts'

const dir = join(scratch, 'example')
const file = 'ablations/example.yaml'

function start(words: readonly string[]): ChildProcess {
  const env = { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache'), XDG_STATE_HOME: join(scratch, 'home') }
  return spawn(process.execPath, [resolve('bin/ot-agent.js'), 'ablate', ...words], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

async function program(...words: readonly string[]) {
  const child = start(words)
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout as NodeJS.ReadableStream),
    text(child.stderr as NodeJS.ReadableStream),
    once(child, 'close'),
  ])
  return { status, stdout, stderr }
}

/** Kills the program once it has printed a text. */
async function killedAt(words: readonly string[], said: string): Promise<void> {
  const child = start(words)
  let printed = ''
  for (const output of [child.stdout, child.stderr])
    output?.on('data', (part) => {
      printed += part
      if (printed.includes(said)) child.kill('SIGKILL')
    })
  const [, signal] = await once(child, 'close')
  expect(signal, printed).toBe('SIGKILL')
}

const stamps = (names: readonly string[]) => names.map((name) => statSync(join(dir, 'data/stages', name)).mtimeMs)

withSandboxes('an ablation of three variants', () => {
  test('runs from plan to report, and resumes after kill -9', async () => {
    const plan = await program('plan', file, '--json')
    expect(plan.status, plan.stderr).toBe(0)
    expect(JSON.parse(plan.stdout)).toMatchObject({
      ...{ schema: 'ablate-plan/1', cells: 3, tests: 2, missing: [], total: { rollouts: 36 } },
      variants: [{ changed: [] }, { changed: ['rollout'] }, { changed: ['rollout'] }],
      stages: [
        { id: 'composer', versions: 1, recipes: 3 },
        { id: 'rollout', versions: 3, recipes: 3 },
      ],
      power: { design: { tasks: 12, rate: 0.9 } },
    })

    await killedAt(['run', file, '-o', dir], 'clean: done')
    const made = readdirSync(join(dir, 'data/stages'))
    const before = stamps(made)
    // The same command again: finished cells stay unchanged.
    const run = await program('run', file, '-o', dir, '--json')
    expect(run.status, run.stderr).toBe(0)
    expect(JSON.parse(run.stdout).cells).toMatchObject([
      { cell: { variant: 'clean' }, state: 'done', cached: true },
      { cell: { variant: 'slips' }, state: 'done', cached: false },
      { cell: { variant: 'careless' }, state: 'done', cached: false },
    ])
    const whole = made.filter((name) => existsSync(join(dir, 'data/stages', name, 'manifest.json')))
    expect(whole.length).toBeGreaterThanOrEqual(2)
    expect(stamps(whole)).toEqual(before.filter((_, i) => whole.includes(made[i] ?? '')))
    expect(readdirSync(join(dir, 'data/stages')).filter((name) => name.startsWith('composer-'))).toHaveLength(1)

    // The same through the library: nothing is left to run.
    const example = spawn(process.execPath, ['scripts/example.mjs', 'examples/08-an-ablation.ts', dir])
    const [compared, progress] = await Promise.all([text(example.stdout), text(example.stderr), once(example, 'close')])
    expect(compared, progress).toMatch(/^clean \S+ baseline\nslips \S+ undecided\ncareless \S+ worse\n$/)
    expect(readdirSync(join(dir, 'data/stages')).filter((name) => name.startsWith('rollout-'))).toHaveLength(3)

    const again = await program('run', file, '-o', dir)
    expect(again.stderr).toContain(`3 done, 0 ready, 0 failed; `)
    expect(again.stderr).toContain(` ablate report ${file} -o ${dir} compares them`)

    const report = await program('report', file, '-o', dir)
    expect(report.status, report.stderr).toBe(0)
    expect(report.stdout).toMatch(/^careless is worse than clean by /m)
    expect(report.stdout).toMatch(/^Undecided: slips and clean differ by /m)
    const { rows } = JSON.parse(readFileSync(join(dir, 'report.json'), 'utf8'))
    expect(rows).toMatchObject([
      { variant: 'clean', score: { mean: 1, tasks: 12 }, comparison: null },
      { variant: 'slips', comparison: { verdict: 'undecided' } },
      { variant: 'careless', comparison: { verdict: 'worse', difference: { tasks: 12 } } },
    ])
    expect(readFileSync(join(dir, 'report.md'), 'utf8')).toContain('# Ablation example')
    const page = readFileSync(join(dir, 'report.html'), 'utf8')
    expect(page.match(/<svg/g)).toHaveLength(2)
    expect(page).not.toMatch(/<script|src=|href=/)
  })
})

test('a command that outlived a killed run is stopped before its cell runs again', async () => {
  const stages = [
    { id: 'tasks', use: 'sources/task-folder', with: { path: resolve('examples/tasks') } },
    { id: 'prompts', use: 'exporters/rl', with: { trainers: ['trl'], validation: 0 } },
  ]
  writeFileSync(join(scratch, 'recipe.mjs'), `export default ${JSON.stringify({ name: 'small', stages })}\n`)
  // The first run waits forever; the second finds the first one's mark and ends.
  const first = 'echo $$ > {out}/pid; while true; do sleep 1; done'
  const second = 'test -e {out}/pid && echo \'{"tasks": {"a": 1}}\' > {out}/result.json && exit 0'
  const study = {
    ...{ schema: 'ablation/1', name: 'orphan', recipe: 'recipe.mjs', variants: { only: {} } },
    outcome: { commands: [['sh', '-c', `(${second}); test -e {out}/result.json || { ${first}; }`]] },
  }
  const own = join(scratch, 'orphan.json')
  writeFileSync(own, JSON.stringify(study))
  const place = join(scratch, 'orphan')
  const words = ['run', own, '-o', place]
  const child = start(words)
  let pid = 0
  while (pid === 0) {
    await new Promise((done) => setTimeout(done, 50))
    const [id] = existsSync(join(place, 'cells'))
      ? readdirSync(join(place, 'cells')).filter((name) => !name.includes('.'))
      : []
    const path = join(place, 'cells', id ?? '', 'out/pid')
    if (id !== undefined && existsSync(path) && existsSync(join(path, '../../running.json')))
      pid = Number(readFileSync(path, 'utf8'))
  }
  child.kill('SIGKILL')
  await once(child, 'close')
  expect(isRunning(pid)).toBe(true)
  const again = await program(...words)
  expect(again.status, again.stderr).toBe(0)
  expect(isRunning(pid)).toBe(false)
})

/** A process that has ended may be a zombie until its parent notices. */
function isRunning(pid: number): boolean {
  const path = `/proc/${pid}/stat`
  return existsSync(path) && !/\) Z /.test(readFileSync(path, 'utf8'))
}
