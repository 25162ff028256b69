import { sandboxPaths } from '../../../core/task-paths.ts'

/** How an answer is compared with the expected one. */
export const answerChecks = ['exact', 'text', 'number', 'choice'] as const
export type AnswerCheck = (typeof answerChecks)[number]

/** The required format of the answer's file, worded for the agent. */
export const answerHints: Readonly<Record<AnswerCheck, string>> = {
  exact: 'and nothing else',
  text: 'in as few words as possible and nothing else',
  number: 'as a plain number and nothing else',
  choice: 'as the letter of the choice and nothing else',
}

/**
 * The test script for an answer in a file. It needs only a shell and awk, so it runs in any image; every line of
 * tests/expected.txt is an accepted answer. The reward is 0 until the answer matches one of them.
 */
export function renderAnswerTest(file: string, check: AnswerCheck): string {
  const reward = `${sandboxPaths.verifierLogs}/reward.txt`
  return `#!/bin/sh
# Compares the answer with every line of expected.txt.
reward=0
if [ -f ${file} ] && [ ! -L ${file} ] && [ "$(wc -c < ${file})" -le 100000 ]; then
  if awk -v mode=${check} -f ${sandboxPaths.tests}/compare.awk ${sandboxPaths.tests}/expected.txt ${file}; then
    reward=1
  fi
fi
echo "$reward" > ${reward}
`
}

/** Normalises both sides according to `mode` and exits with 0 when the answer is one of the expected lines. */
export const compareAwk = `# Usage: awk -v mode=MODE -f compare.awk EXPECTED ANSWER
function plain(text) {
  gsub(/\\r/, "", text)
  sub(/^[ \\t\\n]+/, "", text)
  sub(/[ \\t\\n]+$/, "", text)
  return text
}
function words(text) {
  text = tolower(text)
  gsub(/[^a-z0-9.%+-]+/, " ", text)
  gsub(/[.]+( |$)/, " ", text)
  text = " " text " "
  while (gsub(/ (a|an|the) /, " ", text)) {}
  gsub(/ +/, " ", text)
  return plain(text)
}
# The number, or "" where the text is none: thousands and a leading currency sign are fine, other words are not.
function number(text) {
  gsub(/[, _\\t\\n]/, "", text)
  sub(/^[$]/, "", text)
  sub(/%$/, "", text)
  sub(/[.]$/, "", text)
  if (text ~ /^[+-]?[0-9]+[\\/][0-9]+$/) {
    split(text, part, "/")
    return part[2] + 0 == 0 ? "" : part[1] / part[2]
  }
  return text ~ /^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?$/ ? text + 0 : ""
}
function choice(text) {
  text = toupper(plain(text))
  gsub(/[^A-Z]/, "", text)
  return length(text) == 1 ? text : ""
}
function same(expected, answer, a, b, gap, size) {
  if (mode == "exact") return plain(expected) == plain(answer)
  if (mode == "text") return words(expected) != "" && words(expected) == words(answer)
  if (mode == "choice") return choice(expected) != "" && choice(expected) == choice(answer)
  a = number(plain(expected))
  b = number(plain(answer))
  if (a == "" || b == "") return 0
  if (a == int(a) && b == int(b)) return a == b
  gap = a > b ? a - b : b - a
  size = a < 0 ? -a : a
  return gap <= 0.000001 * (size > 1 ? size : 1)
}
FNR == NR { expected[++count] = $0; next }
{ answer = answer (FNR > 1 ? "\\n" : "") $0 }
END {
  for (i = 1; i <= count; i++) if (plain(expected[i]) != "" && same(expected[i], answer)) exit 0
  exit 1
}
`
