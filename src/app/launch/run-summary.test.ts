import { mkdirSync, mkdtempSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { renderTrainingFacts, type TrainingFacts } from '../../formats/run-summary.ts'
import { writeRunSummary } from './run-summary.ts'

const facts: TrainingFacts = {
  ...{ modelName: 'm', createdBy: 'me', baseModel: null, datasets: [], trainingType: 'SFT', parameters: {} },
}
const startedAt = '2026-01-02T00:00:00Z'

async function summaryOf(folders: readonly string[], about = facts, dir = mkdtempSync(join(tmpdir(), 'summary-'))) {
  const factsFile = join(dir, 'facts.json')
  writeFileSync(factsFile, renderTrainingFacts(about))
  for (const name of folders) mkdirSync(join(dir, 'wandb', name), { recursive: true })
  vi.stubEnv('WANDB_DIR', dir)
  const { path } = await writeRunSummary({ factsFile, outputDir: dir, startedAt, exitCode: 0 })
  return { dir, summary: JSON.parse(readFileSync(path, 'utf8')) }
}

test('the summary links to the newest run on Weights & Biases, and a restart without one keeps the link', async () => {
  vi.stubEnv('WANDB_ENTITY', 'team')
  vi.stubEnv('WANDB_PROJECT', 'agents')
  const { dir, summary } = await summaryOf(['run-20260102_000000-first', 'run-20260102_010000-second', 'other'])
  expect(summary).toMatchObject({
    ...{ wandb_link: 'https://wandb.ai/team/agents/runs/second', wandb_offline_run: null, weights_location: dir },
  })
  const long = new Date('2026-01-01T00:00:00Z')
  for (const name of ['run-20260102_000000-first', 'run-20260102_010000-second'])
    utimesSync(join(dir, 'wandb', name), long, long)
  expect((await summaryOf([], facts, dir)).summary).toMatchObject({ wandb_link: summary.wandb_link, runs: [{}, {}] })
  const before = await summaryOf([])
  expect(before.summary.wandb_link).toBeNull()
})

test('an offline run is named, and SkyRL names its own project', async () => {
  vi.stubEnv('WANDB_ENTITY', 'team')
  vi.stubEnv('WANDB_PROJECT', 'agents')
  const offline = await summaryOf(['offline-run-20260102_000000-a1'])
  expect(offline.summary).toMatchObject({
    ...{ wandb_link: null, wandb_offline_run: join(offline.dir, 'wandb/offline-run-20260102_000000-a1') },
  })
  const parameters = { settings: ['trainer.epochs=2', "trainer.project_name='my rl'"] }
  const rl = await summaryOf(['run-20260102_000000-a1'], { ...facts, trainingType: 'RL', parameters })
  expect(rl.summary.wandb_link).toBe('https://wandb.ai/team/my%20rl/runs/a1')
})
