import type { Launch, LaunchJob, Scheduler } from '../../core/launch.ts'
import { shellQuote } from '../../lib/shell.ts'
import { scriptPath } from '../../run/launch/journal.ts'
import type { Settings } from '../../run/launch/settings.ts'
import { printJson, printTable } from '../output.ts'

/** Prints every setting and where its value comes from. */
export function explainSettings(settings: Settings): void {
  const list = settings.list()
  if (settings.is('json')) {
    printJson({ schema: 'launch-settings/1', settings: list })
    return
  }
  printTable(
    ['setting', 'value', 'from'],
    list.map(({ name, value, origin }) => [name, typeof value === 'string' ? value : JSON.stringify(value), origin]),
  )
}

/** Everything that a launch would write and run, as text. */
export function renderLaunch(launch: Launch, scheduler: Scheduler, notes: readonly string[]): string {
  const { cluster, experimentsDir, jobs, files } = launch
  const lines = [
    `launch ${launch.id}: ${launch.jobType} on ${cluster.name} (${cluster.summary})`,
    `below ${experimentsDir}`,
  ]
  for (const line of notes) lines.push(`note: ${line}`)
  lines.push('', 'jobs:')
  for (const job of jobs) lines.push(`  ${job.name}: ${job.summary}${detailsOf(job)}`)
  lines.push('', 'submitted as:')
  for (const command of commandsOf(launch, scheduler)) lines.push(`  ${command}`)
  for (const [path, text] of Object.entries(files)) lines.push('', `==> ${path} <==`, text.trimEnd())
  for (const job of jobs)
    lines.push('', `==> ${scriptPath(launch, job.name)} <==`, scheduler.render(job, launch).trimEnd())
  return `${lines.join('\n')}\n`
}

/** The commands that hand the jobs over, ids of earlier ones by name. */
export function commandsOf(launch: Launch, scheduler: Scheduler): string[] {
  return launch.jobs.flatMap((job) =>
    Array.from({ length: job.restarts + 1 }, (_, link) =>
      scheduler.describe({ job, launch, link, scriptPath: scriptPath(launch, job.name), tasks: null }),
    )
      .filter((words) => words.length > 0)
      .map((words) => words.map(shellQuote).join(' ')),
  )
}

function detailsOf({ resources, place, array, after, restarts }: LaunchJob): string {
  if (place === 'login') return ' (on this machine, before anything is submitted)'
  const { nodes, gpusPerNode, timeLimit } = resources
  const parts = [
    ...(place === 'internet' ? ['where there is internet'] : []),
    `${nodes} node${nodes === 1 ? '' : 's'}`,
    ...(gpusPerNode > 0 ? [`${gpusPerNode} GPU${gpusPerNode === 1 ? '' : 's'} each`] : []),
    timeLimit,
    ...(array ? [`${array.size} tasks, ${array.throttle} at a time`] : []),
    ...(restarts > 0 ? [`up to ${restarts} restarts`] : []),
    ...after.map(({ job, when }) => (when === 'ok' ? `after ${job} ended well` : `when ${job} runs`)),
  ]
  return ` (${parts.join(', ')})`
}
