import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir, writeTree } from '../../../test/make-task.ts'
import { lintTasks } from './lint-tasks.ts'

const files = {
  'instruction.md': 'Write the sum of the numbers in /app/numbers.txt to /app/sum.txt.\n',
  'environment/Dockerfile': 'FROM debian:12-slim\nWORKDIR /app\n',
  'solution/solve.sh': '#!/bin/bash\necho 12 > /app/sum.txt\n',
  'tests/test.sh': `#!/bin/bash\nreward=0\ngrep -qx 12 /app/sum.txt && reward=1\necho $reward > /logs/verifier/reward.txt\n`,
}

async function unknownKeysOf(toml: string): Promise<string[]> {
  const dir = join(await makeTempDir(), 'sum')
  await writeTree(dir, { ...files, 'task.toml': `schema_version = "1.2"\n${toml}` })
  const [report] = await lintTasks([dir])
  return (report?.findings ?? [])
    .filter(({ lint }) => lint === 'unknown-key')
    .map(({ severity, path, message }) => `${severity} ${path} ${message}`)
}

test('a mistyped key of task.toml is a warning that says which one was meant', async () => {
  expect(await unknownKeysOf('[agent]\ntimeout_secs = 3.0\n')).toEqual([
    'warning task.toml agent.timeout_secs is ignored: it is not a known key; did you mean agent.timeout_sec?',
  ])
  expect(
    await unknownKeysOf('[environment]\nmemmory_mb = 4096\n[environment.healthcheck]\ncommand = "true"\nx = 1\n'),
  ).toEqual([
    expect.stringContaining('did you mean environment.memory_mb?'),
    expect.stringContaining('environment.healthcheck.x is ignored'),
  ])
})

test('known keys and free tables are no finding', async () => {
  const toml =
    '[metadata]\nanything = 1\n[verifier.env]\nMY_NAME = "x"\n[agent]\ntimeout_sec = 3.0\n[[artifacts]]\nsource = "/app/a"\nfree = 1\n'
  expect(await unknownKeysOf(toml)).toEqual([])
})
