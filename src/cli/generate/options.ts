import { Command, Option, type OptionValues } from '@commander-js/extra-typings'
import type { ZodObject, ZodType } from 'zod'
import { restartInterrupted, withModel } from '../../app/flags/model-options.ts'
import { factor, parseShare, passEnvFlag, several, wholeNumber } from '../../app/flags/values.ts'
import { flagOf, kindOf, ownOptions } from '../../app/generate/own-options.ts'
import { UserError } from '../../core/errors.ts'

/** The options shared by every pipeline. */
export function generateOptions() {
  return withModel(withTraces(withHow(withWhat(new Command()))))
}

function withWhat<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  return command
    .optionsGroup('What to make:')
    .addOption(
      new Option('--stage <stage>', 'make tasks, run agents on tasks, or both')
        .choices(['tasks', 'traces', 'both'] as const)
        .default('tasks' as const),
    )
    .option(
      '--source <source>',
      'fixture: the few rows that come with the pipeline; real: its real source; or a file of rows in the same format',
      'fixture',
    )
    .option('--limit <n>', 'maximum number of tasks to make, in the order of the source', wholeNumber(1))
    .option('--seed <n>', 'seed for every random choice', wholeNumber(0), 42)
    .option('--input-dir <dir>', 'input folder, for pipelines that read one')
    .option('--output-dir <dir>', 'where to write everything (default: generated/NAME)')
    .option('--overwrite', 'start over in a folder that holds tasks of an earlier, different run')
    .option('--tasks-input <dir>', 'for --stage traces: a folder of tasks')
    .option(
      '--from-parquet [file]',
      'run agents on packed tasks from this file, or from --tasks-repo, without a pipeline',
    )
    .option('--tasks-repo <dataset>', 'with --from-parquet: org/name, or file:PATH')
    .option('--tasks-revision <revision>', 'branch, tag or commit of --tasks-repo (default: the newest)')
    .option('--parquet-name <file>', 'only this parquet file of --tasks-repo')
    .option('--dry-run', 'print what would be done, and do nothing')
    .option('--target-repo <target>', 'publish the result of the last stage: org/name, or file:PATH')
    .option('--no-upload', 'publish nothing')
}

function withHow<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  return command
    .optionsGroup('How to make it:')
    .option('--no-check', 'keep tasks without checking them: oracle, nop and forger do not run')
    .option(
      '--no-decontaminate',
      'keep tasks that overlap with a benchmark (only benchmarks with an available pack are compared)',
    )
    .option('--check-repeats <n>', 'number of oracle runs that must agree', wholeNumber(1), 2)
    .option(
      '-n, --n-concurrent <n>',
      'rows processed concurrently (default: 4 with checks or a model, else 16)',
      wholeNumber(1),
    )
    .option('-e, --environment <sandbox>', 'kind of sandbox', 'local')
    .option('--ek, --environment-kwarg <key=value>', 'option of the sandbox; repeatable', several)
    .option('--sandbox-cpu <n>', 'CPUs for every task', wholeNumber(1))
    .option('--sandbox-memory-gb <n>', 'memory for every task', wholeNumber(1))
    .option('--sandbox-disk-gb <n>', 'disk for every task', wholeNumber(1))
    .option('--sandbox-gpu <n>', 'GPUs for every task', wholeNumber(0))
    .option('--endpoint-json <file>', 'the endpoint file that a running model server wrote')
    .option(...passEnvFlag)
    .option(...restartInterrupted)
    .option('-q, --quiet', 'do not print progress')
    .option('--json', 'print the result as JSON')
}

function withTraces<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  return command
    .optionsGroup('Traces:')
    .option('--trace-agent-name <name>', 'agent (default: terminus-2)')
    .option('--trace-model <name>', 'model of the agent (default: --model)')
    .option('--trace-agent-kwargs <json>', 'options of the agent, a JSON object')
    .option('--trace-harbor-config <file>', 'a Harbor job file (YAML or JSON); command-line options override it')
    .option('--trace-jobs-dir <dir>', 'where to keep the job (default: jobs in the output folder)')
    .option(
      '--trace-share <i/n>',
      'run agents on every n-th task, starting with i: to split the work between processes',
      parseShare,
    )
    .addOption(
      new Option(
        '--trace-store <layout>',
        'harbor: a directory for each trial (default); packed: a few files for all of them',
      ).choices(['harbor', 'packed'] as const),
    )
    .option('--trace-env <sandbox>', 'kind of sandbox (default: --environment)')
    .option('--trace-n-concurrent <n>', 'trials to run at the same time (default: 8)', wholeNumber(1))
    .option('--trace-n-attempts <n>', 'attempts at each task (default: 1)', wholeNumber(1))
    .addOption(
      new Option('--trace-episodes <which>', 'last: one row per trial (default); all: one row per turn').choices([
        'last',
        'all',
      ] as const),
    )
    .addOption(
      new Option('--trace-export-filter <which>', 'trials to export (default: none, which keeps all)').choices([
        'success',
        'failure',
        'none',
      ] as const),
    )
    .option('--trace-dataset-type <name>', 'dataset type to record with the result, for the trainer (default: SFT)')
    .option('--trace-export-subagents', 'export conversations of subagents as separate rows (default)')
    .option('--trace-skip-subagents', 'skip conversations of subagents')
    .option('--trace-agent-timeout-sec <seconds>', 'time limit of each agent', factor)
    .option('--trace-verifier-timeout-sec <seconds>', 'time limit of the tests', factor)
    .option('--trace-eval-only', 'run and score, export nothing')
    .option('--disable-verification', 'do not run the tests after the agents')
    .option(
      '--agent-may-modify-system',
      'let agents change system files in every task; tests then run on the changed system',
    )
}

/** Adds a pipeline's own options; a name that every pipeline already has cannot be redefined. */
export function withOwnOptions(command: ReturnType<typeof generateOptions>, own: ZodObject | undefined): void {
  command.optionsGroup('This pipeline:')
  for (const [name, schema] of ownOptions(own)) {
    const flag = flagOf(name)
    if (command.options.some(({ long }) => long === flag || long === `--no-${flag.slice(2)}`))
      throw new UserError(
        `option ${name}: expected an unused name, got one that every pipeline has: ${flag}`,
        'rename the option in the pipeline',
      )
    const takes = kindOf(schema) === 'flag' ? flag : `${flag} <${kindOf(schema)}>`
    command.addOption(new Option(takes, `${schema.description || 'option of the pipeline'}${shownDefault(schema)}`))
  }
}

function shownDefault(schema: ZodType): string {
  const parsed = schema.safeParse(undefined)
  const isTelling = parsed.success && parsed.data !== undefined && parsed.data !== false
  return isTelling ? ` (default: ${typeof parsed.data === 'string' ? parsed.data : JSON.stringify(parsed.data)})` : ''
}
