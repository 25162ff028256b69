import { Command } from '@commander-js/extra-typings'
import { wholeNumber } from '../../app/flags/values.ts'
import { writeRunSummary } from '../../app/launch/run-summary.ts'
import { printJson } from '../output.ts'

/** `ot-agent launch summary`: what a training job calls when its trainer has ended. */
export default () =>
  new Command()
    .description(
      'Writes run_summary.json beside what a trainer left: when it ran, how it ended, and what its own files say. Training jobs call this at their end; a restarted one adds to it.',
    )
    .requiredOption('--facts <file>', 'what the launcher wrote down about the run')
    .requiredOption('--output-dir <dir>', 'where the trainer wrote')
    .requiredOption('--started <time>', 'when it was started')
    .option('--exit-code <n>', 'how it ended', wholeNumber(0), 0)
    .option('--reason <text>', 'why it was told to stop')
    .option('--json', 'print the result as JSON')
    .action(async ({ facts: factsFile, outputDir, started: startedAt, exitCode, reason, json }) => {
      const { path, runs } = await writeRunSummary({ factsFile, outputDir, startedAt, exitCode, reason })
      if (json) printJson({ schema: 'run-summary/1', path, runs })
      else process.stdout.write(`${path}\n`)
    })
