import type { LaunchEvent, LaunchPlan } from '../../app/launch.ts'
import type { LaunchJob } from '../../core/launch.ts'
import { note, printJson, printTable } from '../output.ts'

/** Prints every setting and where its value comes from. */
export function printSettings(
  settings: readonly { readonly name: string; readonly value: unknown; readonly origin: string }[],
  asJson: boolean,
): void {
  const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
  if (asJson) printJson({ schema: 'launch-settings/1', settings })
  else
    printTable(
      ['setting', 'value', 'from'],
      settings.map(({ name, value, origin }) => [name, shown(value), origin]),
    )
}

/** Prints what a launch would write and run. */
export function printPlan(plan: LaunchPlan, asJson: boolean): void {
  if (!asJson) {
    process.stdout.write(renderLaunch(plan))
    return
  }
  const { launch, scripts, notes, commands } = plan
  const { id, jobType, cluster, experimentsDir, files } = launch
  const jobs = launch.jobs.map(({ script: _script, ...job }) => {
    const { path, text } = scripts.get(job.name) ?? {}
    return { ...job, scriptPath: path, script: text }
  })
  const facts = { id, jobType, cluster: cluster.name, experimentsDir, notes, commands, jobs, files }
  printJson({ schema: 'launch-plan/1', ...facts })
}

/** Renders everything that a launch would write and run. */
export function renderLaunch({ launch, notes, scripts, commands }: LaunchPlan): string {
  const { cluster, experimentsDir, jobs, files } = launch
  const lines = [
    `launch ${launch.id}: ${launch.jobType} on ${cluster.name} (${cluster.summary})`,
    `below ${experimentsDir}`,
  ]
  for (const line of notes) lines.push(`note: ${line}`)
  lines.push('', 'jobs:')
  for (const job of jobs) lines.push(`  ${job.name}: ${job.summary}${detailsOf(job)}`)
  lines.push('', 'submitted as:')
  for (const command of commands) lines.push(`  ${command}`)
  for (const [path, text] of Object.entries(files)) lines.push('', `==> ${path} <==`, text.trimEnd())
  for (const { path, text } of scripts.values()) lines.push('', `==> ${path} <==`, text.trimEnd())
  return `${lines.join('\n')}\n`
}

function detailsOf({ resources, place, array, after, restarts }: LaunchJob): string {
  if (place === 'login') return ' (on this machine, before anything is submitted)'
  const { nodes, gpusPerNode, timeLimit } = resources
  const parts = [
    ...(place === 'internet' ? ['on nodes with internet access'] : []),
    `${nodes} node${nodes === 1 ? '' : 's'}`,
    ...(gpusPerNode > 0 ? [`${gpusPerNode} GPU${gpusPerNode === 1 ? '' : 's'} each`] : []),
    timeLimit,
    ...(array ? [`${array.size} tasks, ${array.throttle} at a time`] : []),
    ...(restarts > 0 ? [`up to ${restarts} restarts`] : []),
    ...after.map(({ job, when }) => (when === 'ok' ? `after ${job} succeeds` : `when ${job} runs`)),
  ]
  return ` (${parts.join(', ')})`
}

/** Prints a launch event on stderr. */
export function noteEvent(event: LaunchEvent): void {
  if (event.kind === 'note') note(event.text)
  else {
    const { job, link, id } = event.submission
    note(`${job}${link === 0 ? '' : `, restart ${link}`}: ${id}`)
  }
}
