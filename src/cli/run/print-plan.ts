import { planImagesOf, type RunPlan } from '../../app/job/plan-run.ts'
import type { PlannedJob } from '../../app/job/prepare-job.ts'
import { note, printJson, printTable } from '../output.ts'

/** Prints what a job would start from, before anything is built. */
export async function printPlanOf({ config, loadTasks }: PlannedJob, json: boolean): Promise<void> {
  printPlan(await planImagesOf(config, await loadTasks()), json)
}

function printPlan(plan: RunPlan, json: boolean): void {
  if (json) {
    printJson({ schema: 'plan/1', ...plan })
    return
  }
  const { trials, agents, attempts, images, unmet } = plan
  process.stdout.write(
    `${trials} trials: ${count(plan.tasks, 'task')}, ${count(agents, 'agent')}, ${count(attempts, 'attempt')}; ` +
      `${plan.nConcurrent} at a time in sandbox ${plan.sandbox}\n` +
      `${count(images.filter(({ kind }) => kind !== 'none').length, 'image')} needed\n\n`,
  )
  const rows = images.map(({ kind, image, exists, tasks }) => [
    image?.replace(/^([0-9a-f]{12})[0-9a-f]{52}$/, '$1') ?? '-',
    kind === 'none' ? 'the sandbox’s own' : kind,
    kind === 'none' || exists === null ? '-' : exists ? 'yes' : 'no',
    String(tasks.length),
    tasks.length > 3 ? `${tasks.slice(0, 3).join(', ')} ...` : tasks.join(', '),
  ])
  printTable(['image', 'kind', 'there', 'tasks', 'which'], rows)
  if (plan.unavailable !== null) note(`sandbox ${plan.sandbox} cannot run here: ${plan.unavailable}`)
  for (const { reason } of unmet.slice(0, 20)) note(reason)
  if (unmet.length > 20) note(`and ${unmet.length - 20} more tasks`)
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`
}
