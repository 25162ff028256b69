import type { Finding, Lint } from './finding.ts'
import { findRewardWrites, type RewardWrite } from './reward-writes.ts'
import { type CodeLine, codeLines } from './shell-text.ts'
import type { RoundFiles, TextFile } from './task-files.ts'

/** None of the test files mentions a reward. */
export const noReward: Lint = ({ rounds }) =>
  rounds.flatMap(({ testScript, tests }) => {
    if (!testScript || tests.some(({ text }) => /reward/i.test(text))) return []
    const message = 'writes no reward: nothing in the tests mentions reward.txt or reward.json'
    return [{ lint: 'verifier-no-reward', severity: 'error', path: testScript.path, message }]
  })

/** The reward is full whatever the tests find. (If it can only be 0, something else writes the rest.) */
export const alwaysFull: Lint = ({ rounds }) =>
  rounds.flatMap((round): Finding[] => {
    const { testScript, writes } = wholeStory(round)
    if (!testScript || !writes?.length || !writes.every(isFull)) return []
    const message = 'can only write a reward of 1, whatever the tests find'
    return [{ lint: 'verifier-one-value', severity: 'error', path: testScript.path, message }]
  })

/** A full reward is written before anything is checked, and stays if the script dies. */
export const failsOpen: Lint = ({ rounds }) =>
  rounds.flatMap((round): Finding[] => {
    const { testScript, writes } = wholeStory(round)
    const first = writes?.[0]
    if (!testScript || !first || !isFull(first) || !alwaysRuns(first.line)) return []
    if (writes.every(isFull)) return []
    const message =
      'writes a reward of 1 first and corrects it later: a script that dies in between leaves a reward of 1'
    return [{ lint: 'verifier-fails-open', severity: 'warning', path: testScript.path, message }]
  })

/**
 * An existing reward file decides, and the agent may have put it there. If another program writes the reward, checking
 * for the file guards against that program crashing and is only a weak spot.
 */
export const trustsRewardFile: Lint = ({ rounds }) =>
  rounds.flatMap((round): Finding[] => {
    const { testScript, writes } = wholeStory(round)
    if (!testScript || !believesOldReward(testScript)) return []
    const severity = writes?.some((write) => !isZero(write)) ? 'error' : 'warning'
    const message =
      'checks whether a reward file exists without first removing old ones: the agent can leave one behind'
    return [{ lint: 'verifier-trusts-reward-file', severity, path: testScript.path, message }]
  })

const looks =
  /(?:\[\[?\s|\btest\s)[^\]]{0,80}-[efsr]\s+["']?[^\s"']{0,200}reward\.(?:txt|json)|\$\(\s*(?:cat\s|<)[^)]{0,200}reward\.(?:txt|json)/

function believesOldReward({ text }: TextFile): boolean {
  const lines = codeLines(text)
  const at = lines.findIndex(({ code }) => looks.test(code))
  const looking = lines[at]
  if (!looking) return false
  // A trap runs after everything else.
  const before = (looking.code.startsWith('trap ') ? lines : lines.slice(0, at)).filter((line) => line !== looking)
  if (before.some(({ code }) => /\brm\b.*(?:reward|\/logs\/verifier)/.test(code))) return false
  const { writes } = findRewardWrites(before)
  const values = new Set(writes.map((write) => String(write.values)))
  return values.size < 2 && !writes.some(({ line }) => alwaysRuns(line))
}

/** Rewards written by other files or by test scripts in other languages cannot be found in this text. */
function wholeStory({ testScript, tests }: RoundFiles): {
  testScript: TextFile | null
  writes: readonly RewardWrite[] | null
} {
  const elsewhere = tests.some((file) => file !== testScript && /reward/i.test(file.text))
  if (!testScript || elsewhere) return { testScript, writes: null }
  const { writes, complete } = findRewardWrites(codeLines(testScript.text))
  return { testScript, writes: complete ? writes : null }
}

function isFull({ values }: RewardWrite): boolean {
  return values?.every((value) => Number(value) === 1 || /"reward"\s*:\s*1(?:\.0*)?\s*[,}]/.test(value)) ?? false
}

function isZero({ values }: RewardWrite): boolean {
  return values?.every((value) => Number(value) === 0 || /"reward"\s*:\s*0(?:\.0*)?\s*[,}]/.test(value)) ?? false
}

function alwaysRuns({ code, depth }: CodeLine): boolean {
  return depth === 0 && !/&&|\|\||^(?:if|case|trap|while|until|for)\b|^[\w-]+\s*\(\)/.test(code)
}
