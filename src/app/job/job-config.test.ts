import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeTempDir } from '../../../test/make-task.ts'
import { jobConfigOf } from './job-config.ts'
import type { TasksRequest } from './tasks-request.ts'

async function jobOf(document: object | null, request: TasksRequest = {}) {
  const jobFile = join(await makeTempDir(), 'job.json')
  if (document !== null) await writeFile(jobFile, JSON.stringify(document))
  const notes: string[] = []
  const asked = { ...request, ...(document !== null && { jobFile }) }
  const { config } = await jobConfigOf(asked, (line) => notes.push(line.replace(jobFile, 'FILE')))
  return { environment: config.environment, notes }
}

test.each<[string, object | null, TasksRequest, string | null]>([
  ['no job file', null, {}, 'local'],
  ['a job file that names none', { n_attempts: 2 }, {}, 'docker'],
  ['a job file with other settings of the environment', { environment: { override_cpus: 2 } }, {}, 'docker'],
  ['a job file that names one', { environment: { type: 'daytona' } }, {}, 'daytona'],
  ['a flag beside a job file', { n_attempts: 2 }, { sandbox: 'local' }, 'local'],
  ['--set beside a job file', { n_attempts: 2 }, { set: [['environment.type', 'modal']] }, 'modal'],
  ['a file that only sets up a model', { agent_name: 'a', model: 'm', api_base: 'http://x/v1' }, {}, 'local'],
  ['a class of one’s own', { environment: { import_path: './box.ts' } }, {}, null],
])('the sandbox with %s', async (_, document, request, type) => {
  const { environment, notes } = await jobOf(document, request)
  expect(environment.type).toBe(type)
  expect(notes.filter((note) => note.includes('environment.type'))).toEqual(
    type === 'docker' ? ['FILE: environment.type is missing, which means docker as in Harbor; -e chooses another'] : [],
  )
})

test('that sandboxes are to be kept is told to be ignored', async () => {
  const { notes } = await jobOf({ environment: { type: 'docker', delete: false } })
  expect(notes).toEqual(['delete = false is ignored: sandboxes are removed after each trial'])
})
