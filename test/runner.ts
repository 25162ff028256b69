import { type RunnerTestCase, type RunnerTestSuite, TestRunner } from 'vitest'

const untilMs = Number(process.env.OT_AGENT_TEST_UNTIL ?? Number.POSITIVE_INFINITY) * 1000

/** Skips what has not begun at the time, in seconds since 1970, that OT_AGENT_TEST_UNTIL gives. */
export default class extends TestRunner {
  override async onBeforeRunSuite(suite: RunnerTestSuite): Promise<void> {
    skipAfterwards(suite)
    await super.onBeforeRunSuite(suite)
  }

  override async onBeforeRunTask(test: RunnerTestCase): Promise<void> {
    skipAfterwards(test)
    await super.onBeforeRunTask(test)
  }
}

function skipAfterwards(task: RunnerTestCase | RunnerTestSuite): void {
  if (Date.now() < untilMs || task.mode === 'skip') return
  task.mode = 'skip'
  task.meta.skipReason = 'no time left'
}
