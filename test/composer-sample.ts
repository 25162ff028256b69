import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { environmentDigest } from '../data/terminal-composer/compose/compose-task.ts'
import compose from '../data/terminal-composer/compose/index.ts'
import type { TaskDraft } from '../src/core/row.ts'
import { saveTaskDraft } from '../src/formats/harbor-task/draft.ts'
import { loadTask } from '../src/formats/harbor-task/load.ts'
import { makeRandom } from '../src/lib/random.ts'
import { makeAgent, makeProvider } from '../src/plugins/make.ts'
import { makeStage } from '../src/plugins/make-stage.ts'
import { checkTasks } from '../src/run/check/check-tasks.ts'
import { runStage } from './contracts/stage.ts'

const total = 10_000

/** 10,000 composed tasks are all distinct, and a seeded sample from all domains passes the spine. */
export async function checkComposer(checked: number): Promise<void> {
  const stage = await makeStage(compose, { count: total })
  const drafts = (await runStage(stage, [], { seed: 20 })) as TaskDraft[]
  // Duplicates would have been dropped, and dropped rows have neither field.
  expect(new Set(drafts.map(({ instruction }) => instruction)).size).toBe(total)
  expect(new Set(drafts.map(({ files }) => environmentDigest(files))).size).toBe(total)

  const dir = await mkdtemp(join(tmpdir(), 'ot-composer-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const sample = takeEvenly(makeRandom(20, 'composer sample').shuffle(drafts), checked)
  const tasks = []
  for (const draft of sample) tasks.push(await loadTask(await saveTaskDraft(draft, join(dir, 'tasks'))))
  const refused: string[] = []
  const reports = await checkTasks(tasks, {
    provider: await makeProvider('local'),
    sandboxOptions: {},
    makeAgent,
    alternatives: async () => [],
    hostEnv: {},
    repeats: 2,
    lintOnly: false,
    signal: new AbortController().signal,
    concurrency: 8,
    workDir: join(dir, 'trials'),
    keep: false,
    onReport: ({ task, verdict, checks }) => {
      if (verdict !== 'accepted')
        refused.push(`${task}: ${verdict} ${JSON.stringify(checks.flatMap(({ reasons }) => reasons))}`)
    },
  })
  expect(refused).toEqual([])
  expect(reports.map(({ verdict }) => verdict)).toEqual(reports.map(() => 'accepted'))
  expect(reports).toHaveLength(checked)
}

/** An equal number from each domain, as far as possible. */
function takeEvenly(drafts: readonly TaskDraft[], count: number): TaskDraft[] {
  const byDomain = new Map<string, TaskDraft[]>()
  for (const draft of drafts) {
    const domain = String((draft.config?.metadata as { category?: string } | undefined)?.category)
    byDomain.set(domain, [...(byDomain.get(domain) ?? []), draft])
  }
  const rounds = Array.from({ length: count }, (_, nth) =>
    [...byDomain.values()].flatMap((domain) => domain[nth] ?? []),
  )
  return rounds.flat().slice(0, count)
}
