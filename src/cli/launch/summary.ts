import { readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Command } from '@commander-js/extra-typings'
import { orUserError } from '../../formats/harbor-task/read.ts'
import { parseTrainingFacts, renderRunSummary, runsIn, type TrainerRun } from '../../formats/run-summary.ts'
import { readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { readJson } from '../../lib/parse-json.ts'
import { utcNow } from '../../lib/time.ts'
import { printJson, wholeNumber } from '../output.ts'

/** What a trainer writes about itself is not longer. */
const maxBytes = 256 * 1024 * 1024

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
    .action(async ({ facts: file, outputDir, started, exitCode, reason, json }) => {
      const facts = parseTrainingFacts(await orUserError(file, () => readFile(file, 'utf8')), file)
      const path = join(resolve(outputDir), 'run_summary.json')
      const run: TrainerRun = {
        start: started,
        end: utcNow(),
        exit_code: exitCode,
        reason: reason || null,
        job_id: process.env.SLURM_JOB_ID ?? null,
      }
      const runs = [...runsIn(await readTextIfExists(path)), run]
      const [state, results] = await Promise.all(
        ['trainer_state.json', 'all_results.json'].map((name) => readFileJson(join(outputDir, name))),
      )
      await writeAtomic(path, renderRunSummary(facts, runs, { state, results }))
      if (json) printJson({ schema: 'run-summary/1', path, runs: runs.length })
      else process.stdout.write(`${path}\n`)
    })

/** What is missing, broken or endless tells nothing. */
async function readFileJson(path: string): Promise<unknown> {
  try {
    return (await stat(path)).size > maxBytes ? null : readJson(await readFile(path, 'utf8'))
  } catch {
    return null
  }
}
