import { type AblationPlan, type Cost, planStudy } from '../../app/ablate/plan.ts'
import { loadStudy } from '../../app/ablate/study.ts'
import { placeOf } from '../../app/ablate.ts'
import { oneLine } from '../../lib/visible.ts'
import { copyable } from '../copyable.ts'
import { printJson, printTable } from '../output.ts'
import { ablateOptions } from './options.ts'

/** `ot-agent ablate plan`: what an ablation would run, cost and be able to detect. */
export default () =>
  ablateOptions()
    .description(
      'Prints the variants of an ablation, which stages they share, what everything would cost, and the smallest effect it ' +
        'could detect.\n' +
        'Checks for everything a run needs, and exits with 3 when something is missing. Runs and writes nothing.',
    )
    .option('--offline', 'do not use the network: assume that servers, clouds and datasets exist')
    .action(async (file, { out, offline = false, json }) => {
      const study = await loadStudy(file)
      const plan = await planStudy(study, { dir: placeOf(study.name, out), offline })
      if (plan.missing.length > 0) process.exitCode = 3
      if (json) return printJson(plan)
      printPlan(plan)
    })

function printPlan(plan: AblationPlan): void {
  const { variants, stages, total, power, tests } = plan
  printTable(
    ['variant', 'changes', 'cells', ...costNames],
    [
      ...variants.map(({ variant, changed, cells, cost }) => [
        variant,
        changed.join(', ') || 'nothing',
        String(cells),
        ...costCells(cost),
      ]),
      ['total', '', String(plan.cells), ...costCells(total)],
    ],
  )
  process.stdout.write('\n')
  printTable(
    ['stage', 'made', 'for'],
    stages.map(({ id, versions, recipes }) => [id, times(versions), `${recipes} of ${plan.recipes} recipes`]),
  )
  const lines = [
    '',
    ...variants.filter(({ changed }) => changed.length > 1).map(severalChanges),
    ...plan.assumes.map((line) => `assumes: ${line}`),
    ...(power === null
      ? ['What can be detected is not known in advance, because the spread of this measure is not.']
      : powerLines(power, tests)),
    ...plan.needs.map((need) => `needs: ${need}`),
    ...plan.overBudget.map((line) => `over budget: ${line}`),
  ]
  process.stdout.write(`${lines.map(oneLine).join('\n')}\n`)
  if (plan.missing.length === 0) return
  printTable(
    ['missing for', 'what', 'provided by'],
    plan.missing.map((each) => [
      [...new Set(each.stages)].join(', '),
      oneLine(each.what),
      oneLine(copyable(each.provide)),
    ]),
  )
}

function powerLines(power: NonNullable<AblationPlan['power']>, tests: number): string[] {
  const { design, sources } = power
  const facts = Object.entries(design).map(
    ([name, value]) => `${name} ${Number(value.toFixed(3))} (${sources[name as keyof typeof sources]})`,
  )
  return [
    `Detectable ${power.power * 100} % of the time: a difference of ${points(power.detectableEffect)} points; as one of ${tests} comparisons, ${points(power.amongTests)}.`,
    `This assumes ${facts.join(', ')}. The variance that seeds add is known only after they have run.`,
  ]
}

const costNames = ['rollouts', 'tokens', 'USD', 'hours']

function costCells({ rollouts, tokens, costUsd, hours }: Cost): string[] {
  return [rollouts, tokens, costUsd, hours].map((value) =>
    value === null ? '?' : Number.isInteger(value) ? String(value) : value.toFixed(2),
  )
}

function severalChanges({ variant, changed }: AblationPlan['variants'][number]): string {
  return `${variant} changes ${changed.length} stages: its effect is the combined effect of all of them.`
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function points(share: number): string {
  return Number.isFinite(share) ? (share * 100).toFixed(1) : 'any number of'
}
