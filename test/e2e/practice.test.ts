import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir, writeTree } from '../make-task.ts'
import { needs } from '../needs.ts'

// Stands in for Python: no student is trained, and its server always replies that it is done. The tests decide at
// random whether a task counts as solved, so that every number of successes occurs.
const server = `
import { existsSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
const content = JSON.stringify({ analysis: '', plan: '', commands: [], task_complete: true })
const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }]
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
createServer((request, response) => {
  request.resume().on('end', () => {
    response.setHeader('content-type', 'application/json')
    if (request.method === 'POST' && existsSync('DIR/dies')) {
      rmSync('DIR/dies', { force: true })
      process.exit(1)
    }
    if (request.url === '/v1/models') response.end(JSON.stringify({ object: 'list', data: [{ id: 'student' }] }))
    else response.end(JSON.stringify({ id: 'x', object: 'chat.completion', model: 'student', choices, usage }))
  })
}).listen(Number(process.argv[2]), '127.0.0.1')
`
const python = (dir: string) => `#!/bin/sh
case $1 in
*serve.py) exec '${process.execPath}' '${dir}/server.mjs' "$4" ;;
esac
while [ $# -gt 0 ]; do [ "$1" = --out ] && out=$2; [ "$1" = --data ] && data=$2; shift; done
mkdir -p "$out" && touch "$out/student.gguf" && echo "$data" > "$out/data"
echo '{"parameters":1,"rows":2,"tokens":3,"loss":0.1,"sec":1}' > "$out/metrics.jsonl"
`
const coin = '#!/bin/bash\necho $((RANDOM % 2)) > /logs/verifier/reward.txt\n'

interface Row {
  readonly task: string
  readonly weight: number
  readonly messages: readonly { readonly role: string }[]
}

/** The command of a cell whose student practices. */
async function makeCell(method: string) {
  const dir = await makeTempDir()
  writeFileSync(join(dir, 'server.mjs'), server.replaceAll('DIR', dir))
  writeFileSync(join(dir, 'python'), python(dir))
  chmodSync(join(dir, 'python'), 0o755)
  for (const name of ['heads', 'tails'])
    await writeTree(join(dir, 'tasks', name), {
      'task.toml': 'version = "1.0"\n[environment]\nallow_internet = false\n',
      'instruction.md': `Toss a coin for ${name}.\n`,
      'environment/Dockerfile': 'FROM debian:12-slim\nWORKDIR /app\n',
      'tests/test.sh': coin,
      'solution/solve.sh': '#!/bin/sh\ntrue\n',
    })
  const out = join(dir, 'out')
  const asked = ['--practice', join(dir, 'tasks'), '--method', method, '--rounds', '1', '--practice-attempts', '6']
  const usual = ['--data', dir, '--tasks', `new=${join(dir, 'tasks')}`, '--out', out, '--processes', '2']
  return { dir, out, args: ['trainers/small/cell.mjs', ...usual, '--python', join(dir, 'python'), ...asked] }
}

async function runCell(method: string, prepare = (_dir: string) => {}) {
  const { dir, out, args } = await makeCell(method)
  prepare(dir)
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect(status, stderr).toBe(0)
  const result = JSON.parse(readFileSync(join(out, 'result.json'), 'utf8'))
  const { tasks, values } = result as { tasks: object; values: Record<string, number> }
  expect(Object.keys(tasks).sort()).toEqual(['new/heads', 'new/tails'])
  return { dir, out, values }
}

async function practice(method: string) {
  const { out, values } = await runCell(method)
  const lines = readFileSync(join(out, 'practice/1/rows.jsonl'), 'utf8').split('\n').filter(Boolean)
  const rows = lines.map((line) => JSON.parse(line) as Row)
  expect(values.practice_1_learned).toBe(rows.length)
  return { rows, solved: Math.round(values.practice_1_solved! * 12) }
}

test('rejection learns from every attempt that solved its task, and from no other', needs('bwrap'), async () => {
  const { rows, solved } = await practice('rejection')
  expect(rows).toHaveLength(solved)
  expect(rows.every(({ weight, messages }) => weight === 1 && messages.at(-1)?.role === 'assistant')).toBe(true)
})

test(
  'gradient weighs attempts by how much better they were than the others at their task',
  needs('bwrap'),
  async () => {
    const { rows } = await practice('gradient')
    for (const task of ['heads', 'tails']) {
      const weights = rows.filter((row) => row.task === task).map(({ weight }) => weight)
      expect([0, 6]).toContain(weights.length)
      const won = weights.filter((weight) => weight > 0)
      expect(weights.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(0)
      for (const weight of won) expect(weight).toBeCloseTo(1 - won.length / 6)
    }
  },
)

test('teacher, the control, trains further on the data and attempts nothing', needs('bwrap'), async () => {
  const { out, dir, values } = await runCell('teacher')
  expect(readFileSync(join(out, 'practice/1/student/data'), 'utf8').trim()).toBe(dir)
  expect([existsSync(join(out, 'practice/1/jobs')), values.practice_1_solved]).toEqual([false, undefined])
})

test('trials whose server died are tried again with a new one', needs('bwrap'), async () => {
  const { dir, values } = await runCell('teacher', (dir) => writeFileSync(join(dir, 'dies'), ''))
  expect([existsSync(join(dir, 'dies')), values.new_unscored]).toEqual([false, 0])
})

test(
  'a cell that was killed leaves no server behind, and the same command finishes it',
  needs('bwrap', 'setpriv'),
  async () => {
    const { out, args } = await makeCell('none')
    const killed = spawn(process.execPath, args, { stdio: 'ignore' })
    await expect.poll(() => existsSync(join(out, 'jobs/new-1'))).toBe(true)
    killed.kill('SIGKILL')
    const writtenMs = () => statSync(join(out, 'jobs/.port-new-1')).mtimeMs
    const firstMs = writtenMs()
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    expect(status, stderr).toBe(0)
    expect(existsSync(join(out, 'result.json'))).toBe(true)
    // A rerun that is killed too must not lose the port.
    expect(writtenMs()).toBe(firstMs)
  },
)

test('--help says how it is called, and an unknown option is refused without a stack', () => {
  const call = (option: string) =>
    spawnSync(process.execPath, ['trainers/small/cell.mjs', option], { encoding: 'utf8' })
  expect(call('--help')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('--data DATASET --tasks NAME=DIR'),
  })
  expect(call('--hlep')).toMatchObject({
    status: 2,
    stderr: "error: Unknown option '--hlep'\nhint: --help says how it is called\n",
  })
})

test('an unknown method is refused', () => {
  const args = ['trainers/small/cell.mjs', '--data', 'x', '--out', 'x', '--method', 'magic']
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect([status, stderr]).toEqual([
    2,
    'error: unknown method "magic"\nhint: known: none, rejection, gradient, teacher\n',
  ])
})
