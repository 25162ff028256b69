import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { someRecord } from '../../../test/records.ts'
import type { JobStart } from '../../app/job/perform-job.ts'
import { makeLiveStats } from '../../stats/live-stats.ts'
import { makeStageProgress } from './stage-progress.ts'

function progressOn(isTTY: boolean, { quiet = false, env = {} as Record<string, string> } = {}) {
  const written: string[] = []
  const clock = { ms: 0 }
  const screen = { isTTY, columns: 80, write: (text: string) => written.push(text) }
  const progress = makeStageProgress({ screen, quiet, env, nowMs: () => clock.ms })
  return { progress, clock, written: () => written.join('') }
}

const stage = { title: 'lines + count-words', index: 2, of: 5, total: 200 }

test('anything but a terminal gets one line for each stage', () => {
  const { progress, clock, written } = progressOn(false)
  progress.start(stage)
  progress.advance(100)
  clock.ms = 65_000
  progress.end(198, false)
  progress.start({ ...stage, index: 3, title: `a${'b'.repeat(200)}` })
  progress.end(1, true)
  progress.stop()
  const lines = written().trimEnd().split('\n')
  expect(lines[0]).toBe('stage 2/5 lines + count-words: 198 rows, 1m05s')
  expect(lines[1]).toMatch(/^stage 3\/5 ab+ \.\.\. b+: 1 row, from an earlier run, 0s$/)
  expect(lines).toHaveLength(2)
  for (const line of lines) expect(line.length).toBeLessThan(80)
})

test('a terminal gets a bar with rate, cost and the time that is left of the stage, in 80 columns', () => {
  const { progress, clock, written } = progressOn(true, { env: { NO_COLOR: '1' } })
  progress.start({ ...stage, title: 'rollout'.repeat(20) })
  const liveStats = makeLiveStats()
  const plan = Array.from({ length: 4 }, (_, i) => ({ name: `trial-${i}` }))
  const watch = progress.watchTrials({ job: { plan }, liveStats } as unknown as JobStart)
  const usage = { inputTokens: 10, cacheTokens: 0, outputTokens: 5, costUsd: 0.25 }
  watch.started({ name: 'trial-0' } as never)
  watch.started({ name: 'trial-1' } as never)
  clock.ms = 10_000
  const record = someRecord({ name: 'trial-0', usage })
  liveStats.add(record)
  watch.ended(record)
  progress.tell('news')
  progress.start({ ...stage, title: 'rollout'.repeat(20) })
  const drawn = written()
  expect(drawn).toMatch(
    /stage 2\/5 rollout.* {2}\[###-+\] {2}1\/4 trials {2}.*\$0\.25 {2}stage ETA 30s\n {2}trial-1 10s\n/,
  )
  for (const line of withoutEscapes(drawn).split('\n')) expect(line.length).toBeLessThan(80)
  progress.stop()
  expect(written().endsWith('\u001b[2A\r\u001b[J')).toBe(true)
})

test('colors are for terminals that want them, and what a stage is called moves no cursor', () => {
  const shown = (env: Record<string, string>) => {
    const { progress, written } = progressOn(true, { env })
    progress.start({ ...stage, title: 'bad\u001b[2Jname' })
    progress.advance(150)
    progress.end(0, false)
    progress.stop()
    return written()
  }
  expect(shown({})).toContain('\u001b[36mstage 2/5\u001b[39m')
  expect(shown({ NO_COLOR: '1' })).not.toContain('\u001b[36m')
  expect(shown({ TERM: 'dumb' })).toBe('stage 2/5 bad\u001b[2Jname: 0 rows, 0s\n'.replace('\u001b[2J', ' [2J'))
  expect(shown({})).not.toContain('\u001b[2J')
})

test('quiet leaves only news', () => {
  const { progress, written } = progressOn(true, { quiet: true, env: { NO_COLOR: '1' } })
  progress.start(stage)
  progress.end(3, false)
  progress.tell('the teacher is away')
  progress.stop()
  expect(withoutEscapes(written())).toBe('the teacher is away\n')
})

function withoutEscapes(text: string): string {
  return stripVTControlCharacters(text).replaceAll('\r', '')
}
