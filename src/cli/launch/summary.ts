import { Command } from '@commander-js/extra-typings'
import { wholeNumber } from '../../app/flags/values.ts'
import { writeRunSummary } from '../../app/launch/run-summary.ts'
import { printJson } from '../output.ts'

/** `ot-agent launch summary`: called by a training job when its trainer has finished. */
export default () =>
  new Command()
    .description(
      'Writes run_summary.json next to the output of a trainer: when it ran, how it ended, and what its own files say. ' +
        'Training jobs call this when they end; a restarted job adds to the file.',
    )
    .requiredOption('--facts <file>', 'what the launcher recorded about the run')
    .requiredOption('--output-dir <dir>', 'output directory of the trainer')
    .requiredOption('--started <time>', 'when the run started')
    .option('--exit-code <n>', 'exit code of the trainer', wholeNumber(0), 0)
    .option('--reason <text>', 'why the run was asked to stop')
    .option('--json', 'print the result as JSON')
    .action(async ({ facts: factsFile, outputDir, started: startedAt, exitCode, reason, json }) => {
      const { path, runs } = await writeRunSummary({ factsFile, outputDir, startedAt, exitCode, reason })
      if (json) printJson({ schema: 'run-summary/1', path, runs })
      else process.stdout.write(`${path}\n`)
    })
