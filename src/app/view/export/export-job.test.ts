import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../../test/make-task.ts'
import { makeJob, trialOf } from '../../../../test/registry/jobs.ts'
import { atifVersion } from '../../../formats/atif/trajectory.ts'
import { Library } from '../library.ts'
import { exportJob } from './export-job.ts'

const agent = { name: 'a', version: '1' }

test('subagents that name each other in circles are exported as often as the limit says, and no more', async () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f']
  const refs = ids.map((id) => ({ trajectory_id: id, session_id: id }))
  const observation = { results: [{ content: 'done', subagent_trajectory_ref: refs }] }
  const steps = [{ step_id: 1, source: 'agent', message: 'go', observation }]
  const one = { schema_version: atifVersion, agent, steps }
  const inside = ids.map((id) => ({ ...one, session_id: id, trajectory_id: id }))
  const record = trialOf({ task: 'alpha', reward: 1 })
  const dir = await makeJob(join(await makeTempDir(), 'job'), { id: 'job', records: [record] })
  await mkdir(join(dir, record.name, 'agent'), { recursive: true })
  const trajectory = JSON.stringify({ ...one, session_id: 's', subagent_trajectories: inside })
  await writeFile(join(dir, record.name, 'agent/trajectory.json'), trajectory)
  const { library } = await Library.open([dir])
  const written: string[] = []
  const json = async (names: readonly string[]) => {
    if (written.push(names.join(' ')) > 5000) throw new Error('it does not end')
  }
  const scrub = { text: String, paths: (value: unknown) => value }
  expect(await exportJob(library, 'job', { scrub, signal: new AbortController().signal, json })).toBe(1)
  await library.close()
  const paths = written.filter((name) => name.includes(' steps '))
  for (const id of ids) expect(paths).toContainEqual(expect.stringMatching(new RegExp(`trajectory\\.json#${id} 0$`)))
  expect(paths).toHaveLength(300)
})
