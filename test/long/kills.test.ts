import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeRandom } from '../../src/lib/random.ts'
import { passingSolve, writeTask } from '../fakes/tasks.ts'
import { needs } from '../needs.ts'
import { agentRecord, storeJob } from '../traces.ts'

const kills = 40
const seed = process.env.OT_AGENT_TEST_RUNS === undefined ? 1 : Date.now() % 1e9

const scratch = mkdtempSync(join(tmpdir(), 'ot-kills-'))
const at = (...names: string[]) => join(scratch, ...names)
const state = at('cache', 'ot-agent')
const temporary = at('tmp')
const env = { ...process.env, XDG_CACHE_HOME: at('cache'), TMPDIR: temporary }
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** A command and its output path. Some can resume after a kill; the output of others appears whole or not at all. */
interface Work {
  readonly words: readonly string[]
  readonly out: string
  readonly goesOn: boolean
}

const works: Record<string, Work> = {
  run: {
    words: ['run', '-p', at('tasks'), '-a', 'oracle', '-n', '2', '-o', at('jobs'), '--job-name', 'job', '-q'],
    out: at('jobs'),
    goesOn: true,
  },
  recipe: {
    words: ['recipe', 'run', at('recipe.ts'), '-o', at('recipe', 'made'), '--shard-rows', '1'],
    out: at('recipe'),
    goesOn: true,
  },
  generate: {
    words: ['generate', at('pipeline.ts'), '--output-dir', at('generated', 'made'), '-n', '2', '--quiet'],
    out: at('generated'),
    goesOn: true,
  },
  export: {
    words: ['traces', 'export', '-p', at('finished', 'job'), '--out', at('exported', 'traces'), '--form', 'readable'],
    out: at('exported'),
    goesOn: false,
  },
  overwrite: {
    words: [
      ...['traces', 'export', '-p', at('finished', 'job'), '--out', at('overwritten', 'traces')],
      ...['--form', 'readable', '--overwrite'],
    ],
    out: at('overwritten'),
    goesOn: false,
  },
  pack: {
    words: ['tasks', 'pack', at('many'), '--out', at('packed', 'tasks.parquet')],
    out: at('packed'),
    goesOn: false,
  },
  packJob: { words: ['jobs', 'pack', at('to-pack', 'job')], out: at('to-pack'), goesOn: true },
}

describe(`kill -9 at ${kills} random moments`, needs('bwrap', 'unshare', 'nsenter', 'git'), () => {
  beforeAll(prepare)

  test(`clean restores the disk, and the same commands finish (seed ${seed})`, async () => {
    const wholeMs = new Map<string, number>()
    const whole = new Map<string, readonly string[]>()
    for (const [name, work] of Object.entries(works)) {
      const begun = performance.now()
      await toItsEnd(name, work)
      wholeMs.set(name, performance.now() - begun)
      whole.set(name, namesBelow(work.out))
      // The overwrite needs something to overwrite.
      if (name !== 'overwrite') await reset(name)
    }
    clean()
    const before = { state: stateFiles(), temporary: namesBelow(temporary) }
    expect(before.temporary).toEqual([])

    const random = makeRandom(seed, 'kills')
    const moments: string[] = []
    for (let round = 0; moments.length < kills && round < 4 * kills; round++) {
      const [name, work] = Object.entries(works)[round % Object.keys(works).length]!
      const ms = Math.round((0.1 + 0.85 * random.next()) * wholeMs.get(name)!)
      const begun = performance.now()
      if (!(await killedAfter(ms, work))) {
        // The machine was busier at the first measurement.
        wholeMs.set(name, performance.now() - begun)
        if (name !== 'overwrite') await reset(name)
        continue
      }
      moments.push(`${name} ${ms} ms`)
      const told = clean()
      const seen = `seed ${seed}, killed ${moments.slice(-8).join(', ')}; clean: ${told}`
      expect(namesBelow(temporary), seen).toEqual(before.temporary)
      expect(stateFiles(), seen).toEqual(before.state)
      const left = namesBelow(work.out)
      expect(
        left.filter((path) => /\.tmp$|\.tmp\/|(^|\/)owner\.json$|\.owner-after-/.test(path)),
        seen,
      ).toEqual([])
      // Nothing, or everything; for an overwrite, the old or the new output.
      if (!work.goesOn)
        expect([name === 'overwrite' ? whole.get(name) : [], whole.get(name)], seen).toContainEqual(left)
      // Killed after its output was complete: the same command would refuse to overwrite it.
      if (!work.goesOn && name !== 'overwrite' && left.length > 0) await reset(name)
    }
    expect(moments.length).toBe(kills)
    for (const [name, work] of Object.entries(works)) {
      await toItsEnd(name, work)
      expect(namesBelow(work.out), `${name}, ${moments.join(', ')}`).toEqual(whole.get(name))
    }
    expect(clean('--older-than', '1s')).toContain('nothing to clean')
    expect(namesBelow(join(state, 'owners'))).toEqual([])
    expect({ state: stateFiles(), temporary: namesBelow(temporary) }).toEqual(before)
  })
})

async function prepare(): Promise<void> {
  mkdirSync(temporary)
  for (let i = 0; i < 3; i++) await writeTask(at('tasks'), `task-${i}`, { solve: `sleep 0.2\n${passingSolve}` })
  for (let i = 0; i < 150; i++) await writeTask(at('many'), `task-${i}`)
  const source = "source: { fixture: { use: 'sources/file', with: { path: 'rows.jsonl', id: 'id' } }, real: null }"
  const make = `make: async ({ id }) => ({
    instruction: 'Write 42 to /answer, row ' + id + '.',
    files: {
      'solution/solve.sh': { data: '#!/bin/bash\\necho 42 > /answer\\n', executable: true },
      'tests/test.sh': { data: '#!/bin/bash\\n[ "$(cat /answer)" = 42 ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\\n', executable: true },
    },
  })`
  writeFileSync(at('rows.jsonl'), `${['a'].map((id) => JSON.stringify({ id })).join('\n')}\n`)
  writeFileSync(
    at('pipeline.ts'),
    `import { definePipeline } from 'ot-agent'\nexport default definePipeline({ name: 'small', summary: 's', ${source}, ${make} })\n`,
  )
  const stages = [
    { id: 'puzzles', use: 'sources/pipeline', with: { pipeline: 'all-puzzles', args: { count: 1, check: false } } },
    { id: 'mix', use: 'mixers/weighted' },
    { id: 'verified', use: 'filters/tasks/verified' },
    { id: 'out', use: 'exporters/rl' },
  ]
  writeFileSync(at('recipe.ts'), `export default ${JSON.stringify({ name: 'small', seed: 3, stages })}\n`)
  await makeJob(at('finished', 'job'), 60)
  await reset('packJob')
}

async function makeJob(dir: string, trials: number): Promise<void> {
  const records = Array.from({ length: trials }, (_, i) => agentRecord({ name: `trial-${i}`, id: `id-${i}` }))
  await storeJob(
    dir,
    records.map((record) => ({ record, files: 'plain' })),
  )
}

/** Restores a command's files to how they were before its first run. */
async function reset(name: string): Promise<void> {
  const { out } = works[name]!
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out)
  if (name === 'packJob') await makeJob(at('to-pack', 'job'), 30)
}

function start({ words }: Work): ChildProcess {
  // In its own process group, which is killed as a whole.
  return spawn(process.execPath, [resolve('bin/ot-agent.js'), ...words], {
    ...{ env, detached: true, stdio: ['ignore', 'ignore', 'pipe'] },
  })
}

async function toItsEnd(name: string, work: Work): Promise<void> {
  const child = start(work)
  let said = ''
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    said += text
  })
  const [code] = await once(child, 'close')
  expect(code, `${name}: ${said}`).toBe(0)
}

/** False if it finished first. */
async function killedAfter(ms: number, work: Work): Promise<boolean> {
  const child = start(work)
  child.stderr?.resume()
  const exit = once(child, 'exit')
  const first = await Promise.race([wait(ms, 'time'), exit])
  if (first !== 'time') return false
  process.kill(-child.pid!, 'SIGKILL')
  const [code] = await exit
  return code === null
}

function clean(...words: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [resolve('bin/ot-agent.js'), 'clean', ...words], {
    ...{ env, encoding: 'utf8' },
  })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return stdout
}

/**
 * Everything in the state directory except finished bases and layers, which are a cache, and the marks of dead
 * processes, which other PID namespaces need for a day.
 */
function stateFiles(): string[] {
  return namesBelow(state).filter(
    (path) => !/^(owners\/|local\/(bases|layers)\/[0-9a-f]+(-[0-9a-f]{8})?(\/|$)|local\/used\/)/.test(path),
  )
}

/** Does not follow links. */
function namesBelow(dir: string): string[] {
  const found = execFileSync('find', [dir, '-mindepth', '1', '-printf', '%P\\n'], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  return found.split('\n').filter(Boolean).sort()
}
