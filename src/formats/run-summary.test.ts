import { expect, test } from 'vitest'
import {
  parseTrainingFacts,
  renderRunSummary,
  renderTrainingFacts,
  runsIn,
  type TrainingFacts,
  wandbLinkIn,
} from './run-summary.ts'

const facts: TrainingFacts = {
  modelName: 'm',
  createdBy: 'me',
  baseModel: 'org/base',
  datasets: ['org/traces-terminus-2'],
  trainingType: 'SFT',
  parameters: { learning_rate: 1e-5 },
}
const first = {
  start: '2026-01-01T00:00:00Z',
  end: '2026-01-01T01:00:00Z',
  exit_code: 143,
  reason: 'time-limit',
  job_id: '7',
}
const second = { start: '2026-01-01T02:00:00Z', end: '2026-01-01T03:00:00Z', exit_code: 0, reason: null, job_id: '8' }

const none = { state: null, results: null, outputDir: '/out/m', wandb: { link: null, offlineDir: null } }

test('facts are read back as they were written, and what is no such file is refused by name', () => {
  expect(parseTrainingFacts(renderTrainingFacts(facts), 'f.json')).toMatchObject(facts)
  expect(() => parseTrainingFacts('{"schema":"x"}', 'f.json')).toThrow(/f\.json: schema/)
})

test('a restarted run begins with its first run and ends as its last did', () => {
  const text = renderRunSummary(facts, [first], none)
  expect(runsIn(text)).toEqual([first])
  const both = JSON.parse(renderRunSummary(facts, [...runsIn(text), second], none))
  expect(both).toMatchObject({
    ...{ training_start: first.start, training_end: second.end, exit_status: 0, agent_name: 'terminus-2' },
    ...{ base_model_name: 'org/base', dataset_name: 'org/traces-terminus-2', runs: [first, second] },
    trainer: { results: {} },
  })
})

test('of what the trainer wrote the numbers are kept, whatever else is in there', () => {
  const state = {
    global_step: 4,
    epoch: 2,
    max_steps: 'x',
    log_history: [{ loss: 1 }, { loss: 0.5 }, { eval: 1 }, null],
  }
  const results = { train_loss: 0.5, note: 'text', nested: {} }
  const { trainer } = JSON.parse(renderRunSummary(facts, [second], { ...none, state, results }))
  expect(trainer).toEqual({ global_step: 4, epoch: 2, last_loss: 0.5, results: { train_loss: 0.5 } })
})

test('the weights are on the Hub once the trainer ended well, and in its directory otherwise', () => {
  const where = (run: typeof second | typeof first, hubModel?: string) =>
    JSON.parse(renderRunSummary({ ...facts, hubModel }, [run], none)).weights_location
  expect(where(second, 'me/m')).toBe('me/m')
  expect(where(first, 'me/m')).toBe('/out/m')
  expect(where(second)).toBe('/out/m')
})

test.each([null, '', '[]', '{"runs": 3}', 'no JSON'])('an earlier summary that reads %j tells of no runs', (text) => {
  expect(runsIn(text)).toEqual([])
  expect(wandbLinkIn(text)).toBeNull()
})
