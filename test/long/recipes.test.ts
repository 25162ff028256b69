import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { digestTask } from '../../src/formats/harbor-task/digests.ts'
import { digestJson, rowDigest } from '../../src/lib/digest-json.ts'
import { SqlDatabase, sqlText } from '../../src/lib/duckdb.ts'
import { extractTar } from '../../src/lib/tar.ts'
import { traceLineage } from '../../src/run/recipe/lineage.ts'
import { readReport } from '../../src/run/recipe/read-report.ts'
import { needs } from '../needs.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-agent-recipes-'))
const minutes = (count: number) => ({ timeout: count * 60_000 })

interface Made {
  readonly dir: string
  readonly stages: { id: string; taken: number; given: number; drops: Record<string, number> }[]
  readonly cached: string[]
  readonly sinks: { id: string; counts: Record<string, number>; files: string[] }[]
}

function run(recipe: string, out: string, settings: Readonly<Record<string, unknown>>, ...more: string[]): Made {
  const sets = Object.entries(settings).map(([path, value]) => `--set=${path}=${JSON.stringify(value)}`)
  const words = ['recipe', 'run', `recipes/${recipe}.ts`, '-o', join(scratch, out), '--json', ...sets, ...more]
  const done = spawnSync(process.execPath, ['bin/ot-agent.js', ...words], { encoding: 'utf8', maxBuffer: 2 ** 26 })
  expect({ status: done.status, stderr: done.stderr }).toMatchObject({ status: 0 })
  return JSON.parse(done.stdout)
}

const standIn = { model: 'scripted/stand-in', engine: 'scripted' }
/** The settings that run a cluster's recipe on this machine, offline. */
const offline = {
  'benchmarks.packs': 'recipes/demo',
  'benchmarks.benchmarks': ['held-out'],
  'verified.sandbox': 'local',
  'verified.concurrency': 2,
}
const rolled = {
  ...offline,
  'rollout.teacher': { ...standIn, options: { tasks: '{tasks}' } },
  'rollout.sandbox': 'local',
  'rollout.concurrency': 2,
}
/** Whether the pipelines that a recipe names exist. */
const has = (...names: string[]) => names.every((name) => existsSync(`data/${name}/generate.ts`))
const given = ({ stages }: Made, id: string) => stages.find((stage) => stage.id === id)?.given

describe('recipes offline', needs('bwrap', 'unshare', 'nsenter', 'git', 'python3'), () => {
  test('the RL recipe writes verified tasks as prompt sets', () => {
    const made = run(
      'openthoughts-agent-rl',
      'rl',
      {
        ...offline,
        'nl2bash.args.source': 'fixture',
        'code-contests.args.source': 'fixture',
        'composer.args.count': 2,
      },
      '--limit',
      '2',
    )
    expect(made.sinks[0]?.counts.train).toBeGreaterThan(3)
    expect(made.sinks[0]?.files).toEqual(expect.arrayContaining(['README.md', 'skyrl/train-00000-of-00001.parquet']))
  })

  test.skipIf(!has('inferredbugs'))(
    'the first recipe of OpenThoughts-Agent makes traces of both its sources',
    minutes(20),
    () => {
      const made = run(
        'openthoughts-agent-v1',
        'v1',
        {
          ...rolled,
          'nl2bash.args.source': 'fixture',
          'inferredbugs.args.source': 'fixture',
          'allocate.target': 8,
        },
        '--limit',
        '2',
      )
      expect(given(made, 'rollout')).toBe(8)
      expect(made.sinks[0]?.counts.train).toBeGreaterThan(2)
    },
  )

  test.skipIf(!has('swesmith', 'issue-tasks', 'stackexchange'))(
    'the second recipe mixes four sources, tells one of them anew, and exports a ladder',
    minutes(30),
    () => {
      const fixtures = ['swesmith', 'issue-tasks', 'superuser', 'tezos'].map((id) => [`${id}.args.source`, 'fixture'])
      // Judged tasks are tested elsewhere: a judge is configured here, but none of these tasks needs one.
      const judge = { model: join(scratch, 'judge.mjs') }
      writeFileSync(judge.model, 'export default () => { throw new Error("nothing is judged here") }\n')
      const checked = ['superuser', 'tezos'].map((id) => [`${id}.args.kind`, 'checked'])
      const made = run(
        'openthoughts-agent-v2',
        'v2',
        {
          ...rolled,
          ...Object.fromEntries(checked),
          'verified.judge': judge,
          'rollout.judge': judge,
          ...Object.fromEntries(fixtures),
          'length.model': { ...standIn, options: { script: 'recipes/demo/stand-in.json' } },
          'tezos-forms.model': { ...standIn, options: { script: 'recipes/demo/stand-in.json' } },
          'tezos-forms.variants': 1,
          'allocate.target': 9,
          'turns.least': 3,
          'ladder.sizes': [1, 2],
        },
        '--limit',
        '1',
      )
      for (const id of ['swesmith', 'issue-tasks', 'superuser', 'tezos', 'tezos-forms'])
        expect(given(made, id)).toBeGreaterThan(0)
      expect(given(made, 'allocate')).toBe(9)
      expect(made.sinks.map(({ id }) => id)).toEqual(['dataset', 'ladder'])
      expect(made.sinks[1]?.counts).toEqual({ 1: 1, 2: 2 })
    },
  )

  test('another last filter runs no rollout again, another source only its own branch', () => {
    const first = run('demo', 'cache', { 'rollout.concurrency': 2 }, '--limit', '1')
    expect(first.cached).toEqual([])
    const filtered = run('demo', 'cache', { 'turns.least': 4 }, '--limit', '1')
    expect(filtered.cached).toEqual(expect.arrayContaining(['verified', 'length', 'rollout']))
    expect(filtered.cached).not.toContain('turns')
    const sourced = run('demo', 'cache', { 'composer.args.first': 50 }, '--limit', '1')
    expect(sourced.cached).toEqual(['nl2bash', 'puzzles'])
  })

  test('every exported row is walked back to its source row and proven by digests', minutes(30), async () => {
    const dir = join(scratch, 'lineage')
    run('demo', 'lineage', {
      'allocate.perTask': 6,
      'rollout.concurrency': 3,
      'nl2bash.args.limit': 6,
      'composer.args.count': 1,
      'puzzles.args.count': 1,
    })
    const report = await readReport(dir)
    const fixture = readFileSync('data/nl2bash/fixture.jsonl', 'utf8').trim().split('\n')
    const sourceRows = new Set(
      fixture.map((line) => {
        const fields = JSON.parse(line)
        return rowDigest({ id: digestJson(fields).slice(0, 16), source: 'fixture', fields })
      }),
    )
    await using sql = await SqlDatabase.open({ memoryMb: 256, threads: 1, tempDir: dir })
    const exported = await sql.rows(
      `SELECT id, task_digest, source, lineage FROM read_parquet(${sqlText(join(dir, 'out/dataset/data/*.parquet'))}) ORDER BY id`,
    )
    expect(exported.length).toBeGreaterThan(30)
    for (const [i, { id, task_digest, source, lineage }] of exported.entries()) {
      const found = await traceLineage(dir, report, String(id))
      const archive = found?.task?.archive
      if (!archive) throw new Error(`${id} leads to no task`)
      const out = join(scratch, 'unpacked', String(i))
      await extractTar(archive, out)
      expect((await digestTask(out)).content).toBe(task_digest)
      expect(found.task?.lineage).toEqual(JSON.parse(String(lineage)))
      expect(found.way.some((sighting) => sighting.kept && sighting.step === 'rollout')).toBe(true)
      if (source === 'nl2bash') expect(sourceRows).toContain(found.task?.lineage?.rowDigest)
    }
  })
})
