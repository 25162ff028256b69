import { expect, test } from 'vitest'
import { agentRecord } from '../../../test/traces.ts'
import { readStory } from './trial-story.ts'

/** What an agent saw is joined once rather than once per step, because a trajectory may have any number of steps. */
test('a trajectory of very many messages to the agent is read', () => {
  const message = 'x'.repeat(200)
  const told = Array.from({ length: 60_000 }, (_, i) => ({ step_id: i + 2, source: 'user', message }))
  const steps = [{ step_id: 1, source: 'agent', message: 'hello' }, ...told]
  const agent = { name: 'a', version: '1' }
  const text = JSON.stringify({ schema_version: 'ATIF-v1.6', session_id: 's', agent, steps })
  const file = {
    step: null,
    folder: 'agent',
    name: 'trajectory.json',
    bytes: Buffer.from(text),
    size: text.length,
  } as const
  const { turns } = readStory({ job: 'job', record: agentRecord({ name: 'a__1' }), files: [file] })
  expect(turns).toHaveLength(1)
  expect(turns?.[0]?.seen).toHaveLength(60_000 * 201)
})
