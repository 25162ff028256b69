import type { Comparison, TeacherScore } from './compare-teachers.ts'

/** The comparison of teachers for people: the table, the rule, and what the numbers do not show. */
export function renderComparison(
  { scores, choice, agreement }: Comparison,
  { tasks, attempts }: { readonly tasks: number; readonly attempts: number },
): string {
  const chosen = choice === null ? null : scores[choice]
  const close = scores.filter(({ againstChoice }, i) => i !== choice && !(againstChoice && againstChoice.high < 0))
  return [
    '# Teachers',
    '',
    `${tasks} tasks, ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'} of each teacher at each.`,
    '',
    `| ${columns.map(([title]) => title).join(' | ')} |`,
    `|${columns.map(() => '---').join('|')}|`,
    ...scores.map((score) => `| ${columns.map(([, cell]) => cell(score)).join(' | ')} |`),
    '',
    `Rule: the highest mean z-score of the reward, standardised over teachers within each source of tasks; then the cheaper; then the first named. Chosen: ${chosen?.name ?? 'none'}.`,
    '',
    'Trials that ended in an infrastructure failure are not scored and do not count. Intervals are of 95 %, over tasks, paired by task.',
    ...(agreement === null
      ? []
      : ['', `Teachers agree on ${percent(agreement)} of the tasks that two of them were scored on.`]),
    ...(close.length === 0
      ? []
      : ['', `Not distinguishable from the choice by this sample: ${close.map(({ name }) => name).join(', ')}.`]),
    '',
  ].join('\n')
}

const columns: readonly (readonly [string, (score: TeacherScore) => string])[] = [
  ['teacher', ({ name }) => name.replaceAll('|', '\\|')],
  ['trials', ({ trials }) => String(trials)],
  ['not scored', ({ unscored }) => String(unscored)],
  ['success', ({ success }) => (success === null ? '' : percent(success))],
  ['mean reward', ({ meanReward }) => number(meanReward, 3)],
  ['mean z', ({ meanZ }) => number(meanZ, 2)],
  [
    'reward less that of the choice',
    ({ againstChoice }) =>
      againstChoice === null
        ? ''
        : `${number(againstChoice.mean, 3)} [${number(againstChoice.low, 3)}, ${number(againstChoice.high, 3)}]`,
  ],
  ['turns', ({ meanTurns }) => number(meanTurns, 1)],
  ['tokens', ({ meanTokens }) => number(meanTokens, 0)],
  ['USD', ({ costUsd }) => number(costUsd, 2)],
]

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

function number(value: number | null, digits: number): string {
  return value === null ? '' : value.toFixed(digits)
}
