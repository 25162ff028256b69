import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import type { Launch, LaunchJob } from '../../core/launch.ts'
import { driveScript } from './drive-script.ts'

test('every task of an array runs once, and knows its number', async () => {
  const dir = await makeTempDir()
  const script = join(dir, 'a TASK of {}.sh')
  writeFileSync(script, `echo "$SLURM_ARRAY_TASK_ID of link $1" >> '${join(dir, 'ran')}'\n`)
  const job = { name: 'shards', array: { size: 3, throttle: 2 }, after: [], restarts: 0 } as unknown as LaunchJob
  const launch = { id: 'one', experimentsDir: dir, jobs: [job] } as unknown as Launch
  const { status, stderr } = spawnSync('bash', ['-c', driveScript(job, launch, script, null)], { encoding: 'utf8' })
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  const ran = readFileSync(join(dir, 'ran'), 'utf8').trim().split('\n').sort()
  expect(ran).toEqual([0, 1, 2].map((task) => `${task} of link 0`))
})
