import { runOptions } from '../app/flags/run-options.ts'

/**
 * `ot-agent run`: runs tasks x agents x attempts in sandboxes and records them. Its help loads nothing that a run
 * needs.
 */
export default () =>
  runOptions()
    .description(
      'Runs tasks with an agent in sandboxes and keeps every trial in a job directory that Harbor can open.\n' +
        'After a crash or Ctrl-C, run the same command again to resume.',
    )
    .action(async (options) => {
      const { startRun } = await import('./run/start-run.ts')
      await startRun(options, ['ot-agent', 'run', ...process.argv.slice(3)])
    })
