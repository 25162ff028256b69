import type { Finding, Lint } from './finding.ts'
import { findRewardWrites, type RewardWrite } from './reward-writes.ts'
import { type CodeLine, codeLines } from './shell-text.ts'
import type { RoundFiles, TextFile } from './task-files.ts'

/** No file of the tests so much as names a reward. */
export const noReward: Lint = ({ rounds }) =>
  rounds.flatMap(({ testScript, tests }) => {
    if (!testScript || tests.some(({ text }) => /reward/i.test(text))) return []
    const message = 'writes no reward: nothing in the tests mentions reward.txt or reward.json'
    return [{ lint: 'verifier-no-reward', severity: 'error', path: testScript.path, message }]
  })

/** Whatever the tests find, the reward is the same. */
export const oneValue: Lint = ({ rounds }) =>
  rounds.flatMap((round): Finding[] => {
    const { testScript, writes } = wholeStory(round)
    const values = writes?.map((write) => write.values)
    if (!testScript || !values?.length || values.includes(null)) return []
    const distinct = new Set(values.flat())
    if (distinct.size !== 1) return []
    const message = `can write no other reward than ${[...distinct][0]}, whatever the tests find`
    return [{ lint: 'verifier-one-value', severity: 'error', path: testScript.path, message }]
  })

/** A full reward is there before anything was checked, and stays when the script dies on its way. */
export const failsOpen: Lint = ({ rounds }) =>
  rounds.flatMap((round): Finding[] => {
    const { testScript, writes } = wholeStory(round)
    const first = writes?.[0]
    if (!testScript || !first || !isFull(first) || !alwaysRuns(first.line)) return []
    if (writes.every(isFull)) return []
    const message =
      'writes a reward of 1 first and takes it back later: a script that dies in between leaves it standing'
    return [{ lint: 'verifier-fails-open', severity: 'warning', path: testScript.path, message }]
  })

/** A reward file that is already there decides: whoever comes first may have put it there. */
export const trustsRewardFile: Lint = ({ rounds }) =>
  rounds.flatMap(({ testScript }): Finding[] => {
    if (!testScript || !believesOldReward(testScript)) return []
    const message =
      'looks whether a reward file is there without removing old ones first: the agent can leave one behind'
    return [{ lint: 'verifier-trusts-reward-file', severity: 'error', path: testScript.path, message }]
  })

const looks =
  /(?:\[\[?\s|\btest\s)[^\]]{0,80}-[efsr]\s+["']?[^\s"']{0,200}reward\.(?:txt|json)|\$\(\s*(?:cat\s|<)[^)]{0,200}reward\.(?:txt|json)/

function believesOldReward({ text }: TextFile): boolean {
  const lines = codeLines(text)
  const at = lines.findIndex(({ code }) => looks.test(code))
  if (at < 0) return false
  const before = lines.slice(0, at)
  if (before.some(({ code }) => /\brm\b.*(?:reward|\/logs\/verifier)/.test(code))) return false
  const { writes } = findRewardWrites(before)
  const decided = writes.some(({ line }) => alwaysRuns(line)) || new Set(writes.map((w) => String(w.values))).size > 1
  return !decided
}

/** Test scripts of other languages, and rewards other files write, are beyond what a text can tell. */
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
  return values?.length === 1 && values[0] === '1'
}

function alwaysRuns({ code, depth }: CodeLine): boolean {
  return depth === 0 && !/&&|\|\||^(?:if|case|trap|while|until|for)\b|^[\w-]+\s*\(\)/.test(code)
}
