import { Command, Option, type OptionValues } from '@commander-js/extra-typings'
import { evaluationRetries } from '../job/evaluation-retries.ts'
import { restartInterrupted, withModel } from './model-options.ts'
import { factor, passEnvFlag, several, wholeNumber } from './values.ts'

/** `ot-agent run` without its action: every option, using Harbor's name where it has one. */
export function runOptions() {
  return withHarborFlags(withModel(withHow(withPreview(withJob(withWhat(new Command()), 0)))))
}

/** The same for a command that only runs, without planning options. */
export function evalOptions() {
  return withHarborFlags(withModel(withHow(withJob(withWhat(new Command()), evaluationRetries))))
}

function withWhat<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  return command
    .optionsGroup('Tasks and agent:')
    .option('-p, --path <dir>', 'a task, or a folder of tasks')
    .option(
      '-d, --dataset <name>',
      'a folder, a .parquet file or pattern of tasks, a benchmark NAME@VERSION, or hf:org/name, harbor:name@version, git:URL#path',
    )
    .option('--registry-path <file>', 'a registry.json of Harbor, to look up -d in')
    .option('--registry-url <url>', 'the same at a URL')
    .option('--task-git-url <url>', 'git repository with the task; -p is then its path in the repository')
    .option('--task-git-commit <commit>', 'commit of that repository (default: the newest)')
    .option('--fetch', 'fetch tasks that are not on this machine')
    .option(
      '-c, --config <file>',
      'a Harbor job file (YAML or JSON), or a file that configures one model as an agent; command-line options override it',
    )
    .option('--set <path=value>', 'set any key of the job file, for example agents[0].kwargs.x=3; repeatable', several)
    .option('-i, --include-task-name <glob>', 'run only tasks whose name matches; repeatable', several)
    .option('-x, --exclude-task-name <glob>', 'skip tasks whose name matches; repeatable', several)
    .option('-l, --n-tasks <n>', 'run at most this many tasks, after the filters', wholeNumber(1))
    .option('-a, --agent <name>', 'agent (default: oracle, or terminus-2 with a model)')
    .option(
      '--agent-import-path <path>',
      'your own agent: ./my-agent.ts, ./my-agent.ts:ClassName, ./dir or npm:package',
    )
    .option('--ak, --agent-kwarg <key=value>', 'option of the agent; repeatable', several)
    .option('--ae, --agent-env <key=value>', 'environment variable for the agent; repeatable', several)
}

function withHow<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  return command
    .optionsGroup('Sandboxes and tests:')
    .option('-e, --environment <sandbox>', 'kind of sandbox (default: local, or docker for a job file that names none)')
    .option('--environment-import-path <path>', 'your own kind of sandbox, in the form of --agent-import-path')
    .option('--ek, --environment-kwarg <key=value>', 'option of the sandbox; repeatable', several)
    .option('--force-build', 'build the environment again, ignoring prebuilt images and caches')
    .option('--override-cpus <n>', 'CPUs for each sandbox', wholeNumber(1))
    .option('--override-memory-mb <mb>', 'memory for each sandbox', wholeNumber(1))
    .option('--override-storage-mb <mb>', 'disk for each sandbox', wholeNumber(1))
    .option('--override-gpus <n>', 'GPUs for each sandbox', wholeNumber(0))
    .option('--ve, --verifier-env <key=value>', 'environment variable for the tests; repeatable', several)
    .option('--disable-verification', 'do not run the tests')
    .option(
      '--agent-may-modify-system',
      'let agents change system files in every task; tests then run on the changed system',
    )
    .addOption(
      new Option('--reward-precedence <file>', 'which reward file to use when tests write both').choices([
        'txt',
        'json',
      ] as const),
    )
    .option('--artifact <path>', 'a path inside the sandbox to save; repeatable', several)
    .option('--timeout-multiplier <x>', 'multiply every time limit', factor)
    .option('--agent-timeout-multiplier <x>', 'multiply the time limit of agents', factor)
    .option('--verifier-timeout-multiplier <x>', 'multiply the time limit of tests', factor)
    .option('--agent-setup-timeout-multiplier <x>', 'multiply the time limit of agent setup', factor)
    .option(
      '--environment-build-timeout-multiplier <x>',
      'multiply the time limit of building and starting a sandbox',
      factor,
    )
}

/** Adds Harbor flags that have another name here or are the default anyway; they are accepted but not shown in help. */
function withHarborFlags<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  const hidden = <F extends string>(flags: F) => new Option(flags).hideHelp()
  return command
    .addOption(hidden('--env <sandbox>'))
    .addOption(hidden('-t, --task <name>'))
    .addOption(hidden('--mounts-json <json>'))
    .addOption(hidden('--delete'))
    .addOption(hidden('--no-delete'))
    .addOption(hidden('--no-force-build'))
    .addOption(hidden('--enable-verification'))
}

function withJob<A extends unknown[], O extends OptionValues>(command: Command<A, O>, retries: number) {
  return command
    .optionsGroup('Job:')
    .option('-o, --jobs-dir <dir>', 'where to keep jobs (default: jobs)')
    .option(
      '--job-name <name>',
      'name of the job (default: the current time; the same command resumes an interrupted job)',
    )
    .option('-n, --n-concurrent <n>', 'trials to run at the same time (default: 4)', wholeNumber(1))
    .option(
      '--prefetch <n>',
      'maximum number of sandboxes to start ahead of their trials, while models are busy (default: half of -n)',
      wholeNumber(0),
    )
    .option(
      '--max-cpus <n>',
      'stop prefetching sandboxes beyond this many CPUs in total (default: those of this machine)',
      factor,
    )
    .option('--max-memory-mb <mb>', 'the same for memory (default: that of this machine)', wholeNumber(1))
    .option('--max-builds <n>', 'environments to build at the same time (default: 2)', wholeNumber(1))
    .option('-k, --n-attempts <n>', 'attempts at each task (default: 1)', wholeNumber(1))
    .option(
      '-r, --max-retries <n>',
      `retries of a trial after an infrastructure failure (default: ${retries})`,
      wholeNumber(0),
    )
    .option('--retry-include <code>', 'retry only failures with this code; repeatable', several)
    .option('--retry-exclude <code>', 'never retry failures with this code; repeatable', several)
    .addOption(
      new Option('--store <layout>', 'harbor: trial directories; packed: a few packed files (default: harbor)').choices(
        ['harbor', 'packed'] as const,
      ),
    )
    .option(...restartInterrupted)
    .option('--env-file <file>', 'file of variables for templates, one KEY=VALUE per line')
    .option(...passEnvFlag)
    .option('-y, --yes', 'pass every environment variable that tasks ask for')
    .option('-q, --quiet', 'do not print progress')
    .option('--debug', 'print details when something fails')
    .option('--verbose', 'print a line for each trial, however many there are')
    .option('--output <file>', 'also write the result to this file, as JSON')
    .option('--json', 'print the result as JSON')
}

function withPreview<A extends unknown[], O extends OptionValues>(command: Command<A, O>) {
  return command
    .option('--estimate [job]', 'run nothing: estimate time and cost, from typical numbers or from an earlier job')
    .option(
      '--plan',
      'run and build nothing: print which images are needed, which tasks share them and what cannot run',
    )
    .option('--print-config', 'run nothing: print the job file equivalent to this command line, without secrets')
}

export type RunOptions = ReturnType<ReturnType<typeof runOptions>['opts']>
