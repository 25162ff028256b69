import { explainDisk } from '../../app/disk-errors.ts'
import type { Launch } from '../../core/launch.ts'
import { redactArgv } from '../../core/redact.ts'
import { utcNow } from '../../lib/time.ts'
import { makeScheduler } from '../../plugins/make.ts'
import { launchDir, saveLaunch, scriptPath } from '../../run/launch/journal.ts'
import { checkSecretsFile, knownSecrets, refuseSecrets, secretsFileOf } from '../../run/launch/secrets.ts'
import type { Settings } from '../../run/launch/settings.ts'
import { submitJobs } from '../../run/launch/submit.ts'
import { note, printJson } from '../output.ts'
import { commandsOf, renderLaunch } from './print-launch.ts'

/** Prints what a launch would write and run, and touches nothing. */
export async function showLaunch(launch: Launch, notes: readonly string[], settings: Settings): Promise<void> {
  const scheduler = await makeScheduler(launch.cluster.scheduler)
  const scripts = new Map(launch.jobs.map((job) => [job.name, scheduler.render(job, launch)]))
  const text = renderLaunch(launch, scheduler, notes)
  refuseSecrets({ 'the plan': text }, await knownSecrets(process.env, secretsFileOf(process.env)))
  if (!settings.is('json')) {
    process.stdout.write(text)
    return
  }
  const { id, jobType, cluster, experimentsDir, files } = launch
  const jobs = launch.jobs.map(({ script: _script, ...job }) => ({
    ...job,
    scriptPath: scriptPath(launch, job.name),
    script: scripts.get(job.name),
  }))
  const commands = commandsOf(launch, scheduler)
  printJson({
    schema: 'launch-plan/1',
    id,
    jobType,
    cluster: cluster.name,
    experimentsDir,
    notes,
    commands,
    jobs,
    files,
  })
}

/** Writes a launch down and hands its jobs over. */
export async function submitLaunch(launch: Launch, notes: readonly string[], settings: Settings): Promise<void> {
  const scheduler = await makeScheduler(launch.cluster.scheduler)
  const secretsFile = secretsFileOf(process.env)
  if (secretsFile !== null) await checkSecretsFile(secretsFile)
  const scripts = new Map(launch.jobs.map((job) => [job.name, scheduler.render(job, launch)]))
  const command = redactArgv(['ot-agent', ...process.argv.slice(2)], process.env)
  const list = settings.list()
  refuseSecrets(
    { ...Object.fromEntries(scripts), ...launch.files, 'the journal': JSON.stringify([command, list]) },
    await knownSecrets(process.env, secretsFile),
  )
  for (const line of notes) note(line)
  const facts = { createdAt: utcNow(), scheduler: scheduler.name, command, settings: list }
  await explainDisk(launch.experimentsDir, () => saveLaunch(launch, scripts, facts))
  const onSubmitted = ({ job, link, id }: { job: string; link: number; id: string }) =>
    note(`${job}${link === 0 ? '' : `, restart ${link}`}: ${id}`)
  const jobs = new Map(launch.jobs.map(({ name }) => [name, null]))
  const submitted = await submitJobs({ launch, scheduler, earlier: [], jobs, onSubmitted })
  const dir = launchDir(launch.experimentsDir, launch.id)
  if (settings.is('json')) return printJson({ schema: 'launch/1', id: launch.id, dir, submitted })
  process.stdout.write(`${launch.id}\n`)
  note(
    `written down in ${dir}; ot-agent launch status ${launch.id} --experiments-dir ${launch.experimentsDir} tells how it stands`,
  )
}
