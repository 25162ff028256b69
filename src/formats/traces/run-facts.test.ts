import { expect, test } from 'vitest'
import { agentRecord, trialFile } from '../../../test/traces.ts'
import type { TrialFile } from '../../core/trace.ts'
import { RunCollector, runFinder } from './run-facts.ts'

const none: readonly TrialFile[] = []

function ran(name: string, kwargs: Record<string, unknown>) {
  const record = agentRecord()
  return { ...record, name, config: { ...record.config, agent: { ...record.config.agent, kwargs } } }
}

test('a job of one kind is one entry, a job of several lists its trials', () => {
  const runs = new RunCollector()
  for (const name of ['a', 'b']) runs.add('plain', ran(name, { parser_name: 'xml' }), none)
  runs.add('mixed', ran('a', { parser_name: 'xml' }), none)
  runs.add('mixed', ran('b', {}), none)
  const manifest = JSON.parse(JSON.stringify({ runs: runs.runs() }))
  expect(manifest.runs).toMatchObject([
    { jobs: ['plain'], trials: ['mixed/a'] },
    { jobs: [], trials: ['mixed/b'] },
  ])
  const find = runFinder(manifest)
  expect(find('plain', 'b')?.agent.kwargs).toEqual({ parser_name: 'xml' })
  expect(find('mixed', 'a')?.agent.kwargs).toEqual({ parser_name: 'xml' })
  expect(find('mixed', 'b')?.agent.kwargs).toEqual({})
  expect(find('mixed', 'c')).toBeNull()
})

test('where a model is does not go into a dataset; the size of its context does', () => {
  const runs = new RunCollector()
  const head = '{"schema":"exchanges/1","model":{"contextTokens":8192,"outputTokens":null}}\n{}'
  const kwargs = { engine: { api_base: 'http://inner:1' }, api_base: 'http://inner:1', temperature: 0 }
  runs.add('job', ran('a', kwargs), [trialFile('exchanges.jsonl', head)])
  expect(JSON.stringify(runs.runs())).not.toContain('inner')
  expect(runs.runs()).toMatchObject([{ agent: { kwargs: { temperature: 0 } }, model: { contextTokens: 8192 } }])
})

test('an unreadable manifest knows of no run', () => {
  for (const manifest of [null, 7, {}, { runs: 'x' }, { runs: [{ jobs: ['job'] }] }])
    expect(runFinder(manifest)('job', 'a')).toBeNull()
})
