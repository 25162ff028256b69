import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parseJobConfig } from './job-config.ts'
import { readDocument } from './read-document.ts'

test('the job file that comes with the program is a job without a word to complain about', () => {
  const path = 'configs/jobs/default.yaml'
  const { config, warnings } = parseJobConfig(readDocument(readFileSync(path, 'utf8'), path, 'yaml'), { path })
  expect(config).toMatchObject({
    nConcurrentTrials: 32,
    agents: [{ name: 'terminus-2' }],
    environment: { type: 'daytona' },
  })
  expect(warnings).toEqual([])
})
