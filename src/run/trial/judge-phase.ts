import { join } from 'node:path'
import { BoundaryError } from '../../core/errors.ts'
import { judgeFileName, submissionDirName } from '../../core/judge.ts'
import { parseRewards, type RewardFiles, type Rewards } from '../../core/rewards.ts'
import type { Task } from '../../core/task.ts'
import { testsDir } from '../../core/task-paths.ts'
import { exists, readTextIfExists, writeAtomic } from '../../lib/files.ts'
import type { Round, TrialContext } from './context.ts'

/** Whether a judge decides a task or one of its steps. */
export async function isJudged(task: Task): Promise<boolean> {
  const rubrics = [task, ...task.steps].map(({ dir }) => exists(join(testsDir(dir), judgeFileName)))
  return (await Promise.all(rubrics)).includes(true)
}

/** Whether a judge decides a round. */
export function isJudgedRound({ task }: TrialContext, { step }: Round): Promise<boolean> {
  return exists(join(testsDir(step?.dir ?? task.dir), judgeFileName))
}

/**
 * The rewards of a round: what the tests wrote or, for a task with a rubric, the judge's verdict on what the tests
 * collected. The tests come first: a reward of 0 or less is final, and the judge is not asked.
 */
export async function settleRewards(
  context: TrialContext,
  round: Round,
  files: RewardFiles,
  signal: AbortSignal,
): Promise<Rewards> {
  const rubricFile = join(testsDir(round.step?.dir ?? context.task.dir), judgeFileName)
  // Most tasks have none, and checking for it is faster than a failed open.
  const rubric = (await exists(rubricFile)) ? await readTextIfExists(rubricFile) : null
  const precedence = context.config.verifier.rewardPrecedence
  if (rubric === null) return parseRewards(files, precedence)
  const hasWord = files.txt !== null || files.json !== null
  const first = hasWord ? parseRewards(files, precedence) : null
  if (first !== null && Object.values(first).every((reward) => reward <= 0)) return first
  const verifierDir = join(round.dir, 'verifier')
  if (!context.judge)
    throw new BoundaryError('verifier', 'the task is judged by a model, but no model was set: pass --judge-model', {
      code: 'JudgeMissingError',
      retryable: false,
    })
  const submissionDir = join(verifierDir, submissionDirName)
  const { reward, report } = await context.judge({ rubric, instruction: round.instruction, submissionDir, signal })
  context.log(`the judge gives ${reward}`)
  await writeAtomic(
    join(verifierDir, 'judgement.json'),
    `${JSON.stringify({ schema: 'judgement/1', reward, ...report }, null, 2)}\n`,
  )
  await writeAtomic(join(verifierDir, 'reward.txt'), `${reward}\n`)
  return { reward }
}
