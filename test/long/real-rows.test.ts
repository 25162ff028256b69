import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { makeTempDir } from '../make-task.ts'

/** A folder with downloaded real rows, one PIPELINE.jsonl each; none of them is part of this repository. */
const folder = process.env.OT_AGENT_TEST_ROWS
const fileOf = (pipeline: string) => (folder === undefined ? null : join(folder, `${pipeline}.jsonl`))

/** Pipelines that read rows and use no model. */
const pipelines = readdirSync('data').filter(
  (name) => existsSync(`data/${name}/fixture.jsonl`) && !existsSync(`data/${name}/offline-args.json`),
)

function needsRows(pipeline: string): { skip: boolean; meta: { skipReason?: string } } {
  const file = fileOf(pipeline)
  if (file !== null && existsSync(file)) return { skip: false, meta: {} }
  return { skip: true, meta: { skipReason: `needs ${pipeline}.jsonl, real rows, in the folder $OT_AGENT_TEST_ROWS` } }
}

test('there are pipelines to try', () => {
  expect(pipelines.length).toBeGreaterThan(10)
})

describe.each(pipelines)('real rows of %s', (pipeline) => {
  test('become tasks, or say why not', needsRows(pipeline), async () => {
    const out = join(await makeTempDir(), 'tasks')
    const words = ['generate', `data/${pipeline}/generate.ts`, '--source', fileOf(pipeline) ?? '', '--limit', '20']
    const said = execFileSync(
      'node',
      ['bin/ot-agent.js', ...words, '--no-check', '--output-dir', out, '--json', '-q'],
      {
        encoding: 'utf8',
      },
    )
    const { tasks } = JSON.parse(said)
    expect(tasks.metadata.tasks).toBeGreaterThan(0)
  })
})
