import { join } from 'node:path'
import { expect, test } from 'vitest'
import { alternatives, provider, withSandboxes } from '../../../test/e2e/kit.ts'
import { faultyProvider } from '../../../test/fakes/faulty-provider.ts'
import { makeTempDir } from '../../../test/make-task.ts'
import { writeTree } from '../../../test/trees.ts'
import { BoundaryError } from '../../core/errors.ts'
import { loadTask } from '../../formats/harbor-task/load.ts'
import { makeAgent } from '../../plugins/make.ts'
import type { CheckRequest } from './check-request.ts'
import { checkTask } from './check-task.ts'

/** Its solution and its tests would fail, and they need a variable: only its start is sound. */
const tree = {
  'task.toml':
    'schema_version = "1.2"\n[environment]\nallow_internet = false\n[solution.env]\nTOKEN = "${NO_SUCH_TOKEN}"\n',
  'instruction.md': 'Write the number of lines of /app/poem.txt to /app/lines.txt.\n',
  'environment/Dockerfile': 'FROM debian:12-slim\nWORKDIR /app\n',
  'solution/solve.sh': '#!/bin/bash\nexit 1\n',
  'tests/test.sh': '#!/bin/bash\n[ "$(cat /app/lines.txt)" = 3 ] && r=1 || r=0\necho $r > /logs/verifier/reward.txt\n',
}

async function check(failures: number, more: Partial<CheckRequest>, thrown: Error = new Error('the daemon is down')) {
  const dir = await makeTempDir()
  await writeTree(
    join(dir, 'task'),
    Object.fromEntries(Object.entries(tree).map(([path, content]) => [path, { content, mode: 0o755 }])),
  )
  let starts = 0
  const faulty = faultyProvider(provider, {
    lease: (_, really) => (++starts <= failures ? Promise.reject(thrown) : really()),
  })
  const report = await checkTask(
    await loadTask(join(dir, 'task')),
    {
      ...{
        provider: faulty,
        sandboxOptions: {},
        makeAgent,
        alternatives,
        hostEnv: { NO_SUCH_TOKEN: 'x' },
        repeats: 1,
        lintOnly: false,
      },
      ...{ signal: new AbortController().signal, ...more },
    },
    join(dir, 'work'),
  )
  return {
    starts,
    ran: report.runs.length,
    outcome: report.checks.find(({ name }) => name === 'start')?.outcome,
    report,
  }
}

withSandboxes('the start of a task', () => {
  test('is checked alone: nothing else runs', async () => {
    const { report, ...rest } = await check(0, { startOnly: true })
    expect(rest).toEqual({ starts: 1, ran: 0, outcome: 'ok' })
    expect(report.checks.filter(({ outcome }) => outcome !== 'skipped').map(({ name }) => name)).toEqual([
      'lint',
      'start',
    ])
  })

  test('needs no variables that only the solution needs', async () => {
    expect(await check(0, { startOnly: true, hostEnv: {} })).toMatchObject({ starts: 1, outcome: 'ok' })
    expect(await check(0, { hostEnv: {} })).toMatchObject({ starts: 0, outcome: 'unknown' })
  })

  test('says what stands in for the base image', async () => {
    const { report } = await check(0, { startOnly: true })
    // An unprivileged user also gets a note about the limits that sandboxes lack.
    const notes = report.notes.filter((note) => !note.startsWith('limits that cannot be enforced on this machine'))
    expect(notes).toEqual([expect.stringContaining('debian:12-slim')])
  })

  test('is repeated when it failed for a reason outside the task, as often as asked', async () => {
    expect(await check(2, { startOnly: true, retries: 2 })).toMatchObject({ starts: 3, outcome: 'ok' })
    expect(await check(2, { startOnly: true, retries: 1 })).toMatchObject({ starts: 2, outcome: 'unknown' })
    expect(await check(1, { startOnly: true })).toMatchObject({ starts: 1, outcome: 'unknown' })
  })

  test('is not repeated when the task is at fault', async () => {
    const broken = new BoundaryError('task', 'the Dockerfile is broken')
    expect(await check(1, { startOnly: true, retries: 5 }, broken)).toMatchObject({ starts: 1, outcome: 'fail' })
  })

  test('is repeated before the other checks too', async () => {
    const { report, outcome } = await check(1, { retries: 1 })
    expect(outcome).toBe('ok')
    expect(report.runs.length).toBeGreaterThan(2)
    expect(report.verdict).toBe('rejected')
  })
})
