import { mkdir } from 'node:fs/promises'
import type { Submission } from '../../core/launch.ts'
import { redactArgv } from '../../core/redact.ts'
import { utcNow } from '../../lib/time.ts'
import { makeScheduler } from '../../plugins/make.ts'
import { launchDir, saveLaunch } from '../../run/launch/journal.ts'
import { checkSecretsFile, knownSecrets, refuseSecrets, secretsFileOf } from '../../run/launch/secrets.ts'
import type { Settings } from '../../run/launch/settings.ts'
import { holdingLaunch, submitJobs } from '../../run/launch/submit.ts'
import { explainDisk } from '../disk-errors.ts'
import type { LaunchPlan } from './plan-launch.ts'

/** What happens while jobs are submitted. */
export type LaunchEvent =
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'submitted'; readonly submission: Submission }

/** What goes into the journal along with the plan, and who is notified about the jobs. */
export interface Submitting {
  readonly settings: Settings
  /** The command line, without secrets. */
  readonly command: readonly string[]
  readonly emit: (event: LaunchEvent) => void
}

/** Saves a launch and submits its jobs. Returns where it is saved, and the jobs. */
export async function submitLaunch(
  { launch, notes, scripts }: LaunchPlan,
  { settings, command: asked, emit }: Submitting,
): Promise<{ readonly dir: string; readonly submitted: readonly Submission[] }> {
  const secretsFile = secretsFileOf(process.env)
  if (secretsFile !== null) await checkSecretsFile(secretsFile)
  const scheduler = await makeScheduler(launch.cluster.scheduler)
  const command = redactArgv(asked, process.env)
  const facts = { createdAt: utcNow(), scheduler: scheduler.name, command, settings: settings.list() }
  refuseSecrets(
    { 'the journal': JSON.stringify([command, facts.settings]) },
    await knownSecrets(process.env, secretsFile),
  )
  for (const text of notes) emit({ kind: 'note', text })
  const texts = new Map([...scripts].map(([job, { text }]) => [job, text]))
  const dir = launchDir(launch.experimentsDir, launch.id)
  await explainDisk(launch.experimentsDir, () => mkdir(dir, { recursive: true }))
  // Take the lock before the launch can be found, or `launch resume` would submit all of it too.
  const submitted = await holdingLaunch(launch, async () => {
    await explainDisk(launch.experimentsDir, () => saveLaunch(launch, texts, facts))
    return submitJobs({
      launch,
      scheduler,
      earlier: [],
      jobs: new Map(launch.jobs.map(({ name }) => [name, null])),
      onSubmitted: (submission) => emit({ kind: 'submitted', submission }),
    })
  })
  return { dir, submitted }
}
