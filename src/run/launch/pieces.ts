import type { Cluster } from '../../core/cluster.ts'
import type { ScriptPiece } from '../../core/launch.ts'
import { shellQuote } from '../../lib/shell.ts'

/** The cluster's module lines; many modules read unset variables. */
export function loadModules({ modules }: Cluster): readonly ScriptPiece[] {
  return modules.length === 0 ? [] : [{ about: 'modules', lines: ['set +u', ...modules, 'set -u'] }]
}

/** A job's variables: those of the cluster, the proxy for nodes without internet, and any others. */
export function setVariables(cluster: Cluster, more: Readonly<Record<string, string>> = {}): readonly ScriptPiece[] {
  const proxy = cluster.internetOnComputeNodes ? {} : cluster.proxy
  const all = Object.entries({ ...cluster.environment, ...proxy, ...more })
  return all.length === 0
    ? []
    : [{ about: 'variables', lines: all.map(([name, value]) => `export ${name}=${expandable(value)}`) }]
}

/** Activates the Python environment for third-party programs. */
export function activate({ activate: lines }: Cluster): readonly ScriptPiece[] {
  return lines.length === 0
    ? []
    : [{ about: 'the Python of training and serving', lines: ['set +u', ...lines, 'set -u'] }]
}

/** Keys come from a file that only its owner may read; they appear in no script and no argument. */
export function sourceSecrets(file: string | null): readonly ScriptPiece[] {
  if (file === null) return []
  const path = shellQuote(file)
  return [
    {
      about: 'keys',
      lines: [
        `case "$(stat -L -c %a ${path})" in *00) ;; *) note 'expected keys that only their owner may read; chmod 600 the file'; exit 77 ;; esac`,
        // The shell would print a line that it cannot execute.
        `note 'reads the file of keys; nothing that it says is shown, bash -e shows it'`,
        'set -a +u',
        `. ${path} > /dev/null 2>&1`,
        'set +a -u',
      ],
    },
  ]
}

/** How the job calls our own program. */
export function nameProgram(program: readonly string[]): ScriptPiece {
  return { about: 'our program', lines: [`ot_agent=(${program.map(shellQuote).join(' ')})`] }
}

/**
 * Runs our program with arguments and forwards signals to it. An argument of the form `{ raw }` is left to the shell.
 */
export function runOurs(about: string, args: readonly Argument[]): ScriptPiece {
  return { about, lines: wrapped([`run "\${ot_agent[@]}"`, ...args.map(wordOf)]) }
}

/** Runs any program with arguments and forwards signals to it. */
export function runProgram(about: string, args: readonly Argument[]): ScriptPiece {
  return { about, lines: wrapped(['run', ...args.map(wordOf)]) }
}

/** A word of a command: literal text, or something the shell expands in the job. */
export type Argument = string | { readonly raw: string }

/** The server that a job waits for. */
export interface AwaitedServer {
  readonly job: string
  /** Its name in the scheduler. */
  readonly jobName: string
  readonly endpointFile: string
  readonly attempts: number
  readonly delaySec: number
}

/**
 * Waits until this launch's server answers: a number of checks, some seconds apart, counted from the server's start,
 * because it may get its GPUs long after everything else is ready.
 */
export function waitForEndpoint({ job, jobName, endpointFile, attempts, delaySec }: AwaitedServer): ScriptPiece {
  const [server, named] = [shellQuote(job), shellQuote(jobName)]
  return {
    about: 'wait until the model answers',
    lines: [
      `endpoint=${shellQuote(endpointFile)}`,
      `until [ -e "$marks/"${server}.claim ] || [ -e "$marks/"${server}.end ]; do`,
      `  if [ -z "$(squeue -h -u "$(id -un)" -n ${named} 2> /dev/null || echo unknown)" ]; then note 'the server was taken from the queue'; exit 69; fi`,
      `  note 'the server waits for its turn'`,
      `  pause ${delaySec}`,
      'done',
      'for ((look = 1; ; look++)); do',
      `  if [ -s "$endpoint" ] && "\${ot_agent[@]}" serve --check --endpoint-json "$endpoint" >&2; then break; fi`,
      `  if [ "$look" -ge ${attempts} ]; then note 'the model does not answer after ${attempts} looks'; exit 69; fi`,
      `  if is_final ${server}; then note 'the server has ended'; exit 69; fi`,
      `  note "look $look of ${attempts}: no answer yet"`,
      `  pause ${delaySec}`,
      'done',
    ],
  }
}

/** A unit of work that uses a server: a job and its number of tasks. */
export interface Consumer {
  readonly job: string
  /** Null for a job that is not an array. */
  readonly tasks: number | null
}

/**
 * Ends a server as soon as no job can need it: all its users are done, or one has failed for good and the others will
 * never run.
 */
export function endWithConsumers(consumers: readonly Consumer[]): ScriptPiece {
  const cases = consumers.map(
    ({ job, tasks }) => `  consumer ${shellQuote(job)} ${tasks ?? 0} || { [ $? = 2 ] && return 0; open=1; }`,
  )
  return {
    about: 'end when no job needs it any more',
    lines: [
      '# 0: done; 1: may still run; 2: failed for good.',
      'consumer() {',
      '  local each failed=0 names=("$1") i',
      '  if [ "$2" -gt 0 ]; then names=(); for ((i = 0; i < $2; i++)); do names+=("$1.$i"); done; fi',
      `  for each in "\${names[@]}"; do`,
      '    if [ -e "$marks/$each.done" ]; then continue; fi',
      '    if ! is_final "$each"; then return 1; fi',
      '    failed=2',
      '  done',
      '  return "$failed"',
      '}',
      'none_left() {',
      '  local open=',
      ...cases,
      '  [ -z "$open" ]',
      '}',
      'watch_consumers() { while sleep 3; do if none_left; then kill -HUP $$; return; fi; done; }',
      'watch_consumers & helpers+=($!)',
    ],
  }
}

/** Renders pieces as the lines of a script. */
export function renderPieces(pieces: readonly ScriptPiece[]): string {
  return pieces.map(({ about, lines }) => [`# ${about}`, ...lines, ''].join('\n')).join('\n')
}

function wordOf(argument: Argument): string {
  return typeof argument === 'string' ? shellQuote(argument) : argument.raw
}

/** One option per line, for readability. */
function wrapped(words: readonly string[]): string[] {
  const lines: string[] = []
  for (const word of words) {
    const last = lines.at(-1)
    const startsLine = last === undefined || word.startsWith('-')
    if (startsLine) lines.push(lines.length === 0 ? word : `  ${word}`)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines.map((line, i) => (i < lines.length - 1 ? `${line} \\` : line))
}

/** A value in double quotes, so that `$SCRATCH/models` and `${SCRATCH:-/tmp}` are expanded; nothing else in it is. */
export function expandable(value: string): string {
  return `"${value.replaceAll(/[\\"`]|\$(?![A-Za-z_]|\{[A-Za-z_]\w*(?:(?:[-+%#]|:[-+])[^}]*)?\})/g, '\\$&')}"`
}
