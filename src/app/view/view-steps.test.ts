import { readdirSync, readlinkSync } from 'node:fs'
import { expect, test } from 'vitest'
import { makeTempDir, writeTree } from '../../../test/make-task.ts'
import { Trajectories } from './view-steps.ts'

test('two readers of the same subagent at once leave no file open', async () => {
  const dir = await makeTempDir()
  const subagent = { schema_version: 'ATIF-v1.4', trajectory_id: 'helper', steps: [] }
  const whole = { schema_version: 'ATIF-v1.4', steps: [], subagent_trajectories: [subagent] }
  await writeTree(dir, { 'agent/trajectory.json': JSON.stringify(whole) })
  const trajectories = new Trajectories()
  const read = () => trajectories.read(dir, 'agent/trajectory.json#helper', 0, 10)
  const pages = await Promise.all([read(), read(), read()])
  expect(pages.map(({ total }) => total)).toEqual([0, 0, 0])
  await trajectories.close()
  const open = readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return []
    }
  })
  expect(open.filter((path) => path.startsWith(dir))).toEqual([])
})
