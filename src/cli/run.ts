import { resolve } from 'node:path'
import type { AgentConfig, JobConfig } from '../core/job.ts'
import { unresumableSecrets } from '../core/redact.ts'
import { pluginContext } from '../plugins/make.ts'
import { absoluteImportPath } from '../plugins/user-modules/import-path.ts'
import { fingerprintsIn } from '../run/job/fingerprint.ts'
import { openJob } from '../run/job/open-job.ts'
import { note } from './output.ts'
import { absoluteEngine } from './run/agent-engine.ts'
import { importDigests } from './run/configured.ts'
import { loadEnvFile } from './run/env-file.ts'
import { printEstimate } from './run/estimate.ts'
import { askedJob } from './run/job-document.ts'
import { checkJobsDir } from './run/jobs-dir.ts'
import { modelUseOf } from './run/model-options.ts'
import { type RunOptions, runOptions } from './run/options.ts'
import { checkOutputFile } from './run/output-file.ts'
import { printPlan } from './run/print-plan.ts'
import { resolveTasks } from './run/resolve-tasks.ts'
import { runAskedJob } from './run/run-asked-job.ts'
import { withTaskOptions } from './run/task-options.ts'

/** `ot-agent run`: tasks times agents times attempts, in sandboxes, recorded. */
export default () => makeRun(process.argv.slice(3))

/** The command for the given words, which the job's lock will name. */
export const makeRun = (words: readonly string[]) =>
  runOptions()
    .description(
      'Runs tasks with an agent in sandboxes and keeps every trial in a job directory that Harbor can open.\n' +
        'After a crash or Ctrl-C, run the same command again to resume.',
    )
    .action((options) => runAction(options, ['ot-agent', 'run', ...words]))

async function runAction(options: RunOptions, invocation: readonly string[]): Promise<void> {
  const fromFile = options.envFile === undefined ? [] : await loadEnvFile(options.envFile)
  const asked = await askedJob(options, 'local')
  const config = absolute(await withTaskOptions(asked.config, options))
  const tasks = await resolveTasks(config)
  if (options.plan) return printPlan(config, tasks, options.json ?? false)
  await checkJobsDir(config.jobsDir)
  if (options.output !== undefined) await checkOutputFile(options.output)
  const imports = await importDigests(config)
  const fingerprint = fingerprintsIn(pluginContext().stateDir)
  const open = () => {
    warnUnwritten(config)
    return openJob({
      config,
      fingerprint,
      named: asked.named,
      tasks,
      imports,
      layout: options.store ?? null,
      invocation,
    })
  }
  const use = modelUseOf(options, asked.adaptive)
  if (options.estimate !== undefined) return printEstimate(config, tasks.length, options)
  const { verbose = false, json = false, output } = options
  const showing = { quiet: config.quiet, json, verbose, ...(output !== undefined && { output }) }
  const consent = { yes: options.yes, passEnv: [...fromFile, ...(options.passEnv ?? [])] }
  const { restartInterrupted } = options
  await runAskedJob({ config, tasks, consent, use, prefetch: options, open, restartInterrupted }, showing)
}

function warnUnwritten(config: JobConfig): void {
  const hidden = unresumableSecrets(config, process.env)
  if (hidden.length > 0)
    note(
      `${hidden.join(', ')}: literal values are not written to the job's files; jobs resume will ask for them again (as \${VARIABLE} they are found by themselves)`,
    )
}

/** A job must be found and resumed from any directory. */
function absolute(config: JobConfig): JobConfig {
  const whole = <T extends { readonly path: string | null }>(part: T): T =>
    part.path === null ? part : { ...part, path: resolve(part.path) }
  const served = (agent: AgentConfig): AgentConfig => ({ ...agent, kwargs: absoluteEngine(agent.kwargs) })
  const imported = <T extends { readonly importPath: string | null }>(part: T): T =>
    part.importPath === null ? part : { ...part, importPath: absoluteImportPath(part.importPath) }
  return {
    ...config,
    jobsDir: resolve(config.jobsDir),
    agents: config.agents.map(imported).map(served),
    environment: imported(config.environment),
    tasks: config.tasks.map(whole),
    datasets: config.datasets.map(whole),
  }
}
