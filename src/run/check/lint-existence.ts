import type { Finding, Lint } from './finding.ts'
import { findRewardWrites } from './reward-writes.ts'
import { codeLines } from './shell-text.ts'
import type { RoundFiles } from './task-files.ts'

/** The tests only check that a file exists: any content earns the reward. */
export const existenceOnly: Lint = ({ rounds }) =>
  rounds.flatMap((round): Finding[] => {
    const { testScript } = round
    if (!testScript || !isShell(testScript.text) || !looksOnly(round)) return []
    const message = 'only checks whether a file exists: an empty or wrong file earns the full reward'
    return [{ lint: 'verifier-existence-only', severity: 'error', path: testScript.path, message }]
  })

const existence = /^!?\s*(?:\[\[?\s+!?\s*-[efsr]\s+\S+\s+\]\]?|test\s+!?\s*-[efsr]\s+\S+)$/
const inert =
  /^(?:(?:if|elif|then|else|fi|true|:|\{|\})|\w+=["']?[\w.]*["']?|(?:echo|printf|mkdir|touch|chmod|exit|set|cd|rm|export|sleep)(?:\s.*)?)$/

/** True when every part of the script either checks whether files exist or does nothing that could judge. */
function looksOnly({ testScript }: RoundFiles): boolean {
  const lines = codeLines(testScript?.text ?? '')
  // A reward that cannot vary is reported by another lint.
  const values = new Set(findRewardWrites(lines).writes.flatMap((write) => write.values ?? []))
  if (values.size < 2) return false
  const parts = lines.flatMap(({ code }) => partsOf(code))
  return parts.some((part) => existence.test(part)) && parts.every((part) => existence.test(part) || isInert(part))
}

function partsOf(code: string): string[] {
  return code
    .split(/;|&&|\|\|/)
    .map((part) => part.trim().replace(/^(?:if|elif|then|else)\s+/, ''))
    .filter((part) => part !== '')
}

/** It reads nothing and lets no other program decide. */
function isInert(part: string): boolean {
  return inert.test(part) && !/\$\(|`|\||<(?!<)/.test(part)
}

function isShell(text: string): boolean {
  return !/^#!/.test(text) || /^#!.*\b(?:ba|da|z|k)?sh\b/.test(text)
}
