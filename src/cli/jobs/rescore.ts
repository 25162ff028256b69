import { Command } from '@commander-js/extra-typings'
import { withJudge } from '../../app/flags/model-options.ts'
import { wholeNumber } from '../../app/flags/values.ts'
import { providerOf } from '../../app/job/configured.ts'
import { askConsent } from '../../app/job/consent.ts'
import { refuseUnjudged } from '../../app/job/judge.ts'
import { judgeSettingsOf } from '../../app/job/model-flags.ts'
import { unlimitedUse } from '../../app/job/model-use.ts'
import { findModels } from '../../app/job/models.ts'
import { loadStoredJob } from '../../app/job/stored-job.ts'
import { sandboxAlternatives } from '../../plugins/make.ts'
import { type Rescored, rescoreJob } from '../../run/rescore.ts'
import { networksOf } from '../../run/trial/environment.ts'
import { interruptSignal } from '../interrupt.ts'
import { note, printJson, printTable } from '../output.ts'
import { confirmAtTerminal } from '../run/confirm.ts'
import { type HiddenValueOptions, hiddenValuesOf, withHiddenValues } from '../run/hidden-value-flags.ts'

/** `ot-agent jobs rescore`: the tests alone, on what the trials kept. */
export default () =>
  withHiddenValues(
    withJudge(
      new Command()
        .description(
          'Runs the tests of finished trials again, on the artefacts they kept, and writes the new scores; the old records are kept aside.\n' +
            'Works for tasks whose verifier is separate; trials that cannot be scored again are listed with the reason.',
        )
        .argument('<job>', 'the directory of the job')
        .option(
          '--artifacts-suffice',
          "also trials whose tests share the agent's sandbox: you know that they look only at declared artefacts",
        )
        .option('-n, --n-concurrent <n>', 'trials at once', wholeNumber(1), 4)
        .option('--json', 'print the result as JSON'),
    ),
  ).action(async (path, { artifactsSuffice = false, nConcurrent, json = false, ...options }) => {
    const rows = await rescore(path, artifactsSuffice, nConcurrent, options)
    if (json) printJson({ schema: 'rescore/1', job: path, trials: Object.fromEntries(rows) })
    else
      printTable(
        ['trial', 'before', 'after'],
        [...rows].sort().map(([name, row]) => [name, ...cellsOf(row)]),
      )
    note(
      `${[...rows.values()].filter(({ kind }) => kind === 'rescored').length} of ${rows.size} trials were scored again`,
    )
    if ([...rows.values()].some(({ kind }) => kind === 'failed')) process.exitCode = 3
  })

type RescoreOptions = HiddenValueOptions & Parameters<typeof judgeSettingsOf>[0]

async function rescore(path: string, artifactsSuffice: boolean, nConcurrent: number, options: RescoreOptions) {
  const judge = judgeSettingsOf(options)
  const { there, config, tasks: jobTasks, consent, changes } = await loadStoredJob(path, {}, hiddenValuesOf(options))
  const tasks = jobTasks.map(({ task }) => task)
  for (const change of changes) note(`${change}; its present tests are used`)
  await askConsent(tasks, consent, confirmAtTerminal())
  await refuseUnjudged(tasks, judge)
  const provider = await providerOf(config.environment)
  await provider.preflight({ networks: networksOf(tasks) })
  const interrupt = interruptSignal()
  try {
    // Agents are not asked again: only the judge needs a model.
    const served = await findModels(
      { ...config, agents: [] },
      { use: { ...unlimitedUse, judge }, notify: note, signal: interrupt.signal },
    )
    const models = await served.open(there.dir, nConcurrent)
    return await rescoreJob({
      there,
      config,
      tasks,
      provider,
      hostEnv: process.env,
      alternatives: await sandboxAlternatives(),
      judgeFor: models.judgeFor,
      signal: interrupt.signal,
      artifactsSuffice,
      nConcurrent,
    }).finally(models.close)
  } finally {
    interrupt.stop()
  }
}

function cellsOf(row: Rescored): string[] {
  if (row.kind === 'rescored') return [JSON.stringify(row.before), JSON.stringify(row.after)]
  return ['', `${row.kind === 'failed' ? 'failed' : 'not rescorable'}: ${row.reason}`]
}
