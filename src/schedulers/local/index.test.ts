import { mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import type { Launch, LaunchJob } from '../../core/launch.ts'
import local from './index.ts'

test('a job that ended before its start time could be read has ended, whatever has its number now', async () => {
  const scheduler = local.make({}, { env: process.env, stateDir: '/nowhere' })
  const id = `${process.pid}:ended`
  expect(await scheduler.states([{ job: 'one', link: 0, id, tasks: null }])).toEqual([])
})

test('a job writes to its log, and the process that handed it over does not keep the log open', async () => {
  const dir = await makeTempDir()
  mkdirSync(join(dir, 'logs'))
  const [scriptPath, log] = [join(dir, 'job.sh'), join(dir, 'logs', 'one_job.out')]
  writeFileSync(scriptPath, 'echo "link $1 ran"\n')
  const job = { name: 'one', jobName: 'one_job', array: null, after: [], restarts: 0 } as unknown as LaunchJob
  const launch = { id: 'launch', experimentsDir: dir, jobs: [job] } as unknown as Launch
  const scheduler = local.make({}, { env: process.env, stateDir: dir })
  const id = await scheduler.submit({ job, launch, link: 0, scriptPath, tasks: null, earlier: [] })
  await expect.poll(() => scheduler.states([{ job: 'one', link: 0, id, tasks: null }])).toEqual([])
  expect(readFileSync(log, 'utf8')).toBe('link 0 ran\n')
  const open = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return []
    }
  })
  expect(open).not.toContain(log)
})
