import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../needs.ts'
import { lookAtDemo } from '../view-demo.ts'

// An empty project with the packed package installed, as users have it.
const project = mkdtempSync(join(tmpdir(), 'demo-'))
const inProject = (program: string, ...args: string[]) => spawnSync(program, args, { cwd: project, encoding: 'utf8' })
const demo = (out: string, ...words: string[]) =>
  inProject('npx', '--no-install', 'ot-agent', 'demo', '-o', out, ...words)

describe('ot-agent demo', needs('bwrap', 'unshare', 'nsenter', 'git'), () => {
  const out = join(project, 'demo')

  beforeAll(() => {
    // Other tests are running the built program: do not rebuild it.
    const packed = spawnSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', project], {
      encoding: 'utf8',
    })
    expect(packed.status, packed.stderr).toBe(0)
    const [{ filename, files }] = JSON.parse(packed.stdout) as [{ filename: string; files: { path: string }[] }]
    expect(files.map(({ path }) => path).filter((path) => /^(test|bench|scripts|web)\/|\.test\./.test(path))).toEqual(
      [],
    )
    writeFileSync(join(project, 'package.json'), '{ "name": "mine", "private": true }\n')
    const installed = inProject('npm', 'install', '--prefer-offline', '--no-audit', '--no-fund', `./${filename}`)
    expect(installed.status, installed.stderr).toBe(0)
    // npm warns about install scripts in packages: ours has none.
    expect(installed.stderr).not.toMatch(/ot-agent|prepare/)
  })
  afterAll(() => rmSync(project, { recursive: true, force: true }))

  test('makes a dataset offline, says what each stage did, and has nothing left to do the second time', () => {
    const first = demo('demo')
    expect({ status: first.status, stderr: first.stderr }).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('The teacher is a stand-in, not a model'),
    })
    for (const stage of ['nl2bash', 'composer', 'puzzles', 'mix', 'benchmarks', 'verified', 'rollout', 'secrets'])
      expect(first.stdout).toMatch(new RegExp(`^${stage} +\\d`, 'm'))
    expect(first.stdout).toMatch(/^benchmarks .* contaminated 1$/m)
    const [, train = '', held = ''] = /^(\d+) traces for training and (\d+) for validation/m.exec(first.stdout) ?? []
    expect(Number(train)).toBeGreaterThan(10)
    expect(Number(held)).toBeGreaterThan(0)
    for (const file of ['README.md', 'dataset_info.json', 'train.yaml', 'data/train-00000-of-00001.parquet']) {
      expect(existsSync(join(out, 'out/dataset', file))).toBe(true)
      expect(first.stdout).toContain(join('out/dataset', file))
    }
    const lines = readFileSync(join(out, 'out/dataset/jsonl/train-00000-of-00001.jsonl'), 'utf8').trim().split('\n')
    const rows = lines.map((line) => JSON.parse(line))
    expect(rows).toHaveLength(Number(train))
    for (const { reward, agent, conversations } of rows) {
      expect({ reward, agent }).toEqual({ reward: 1, agent: 'terminus-2' })
      expect(conversations.length).toBeGreaterThan(5)
    }
    // Replies from a real model: not all of its traces are kept.
    expect(first.stdout).toMatch(/^student +6 +6$/m)
    expect(first.stdout).toMatch(/^(turns|loops|solved) .*(too-few-turns|loop|reward-too-low) \d+/m)
    // The commands it suggests can be pasted into a shell.
    const said = `${first.stdout}${first.stderr}`
    const tips = [...said.matchAll(/^ +(npx ot-agent (?:eval compare|recipe explain|recipe check) .*?) {3}/gm)]
    expect(tips).toHaveLength(3)
    for (const [, tip = ''] of tips) expect([tip, inProject('sh', '-c', tip).status]).toEqual([tip, 0])
    const again = demo(out, '--json')
    expect(again.status).toBe(0)
    const { cached, sinks } = JSON.parse(again.stdout)
    expect(cached).toContain('rollout')
    expect(sinks[0].cached).toBe(true)
  })

  test('is shown by the viewer', needs('chromium'), () => lookAtDemo(out))

  test('a model that cannot be reached is said so, and nothing is called a reward of 0', () => {
    const { status, stderr } = demo('unreachable', '--api-base', 'http://127.0.0.1:9/v1', '--model', 'absent')
    expect(status).not.toBe(0)
    expect(stderr).toContain('The teacher is absent at http://127.0.0.1:9/v1')
    expect(stderr).toMatch(/^failed: stage length: model absent/m)
  })
})
