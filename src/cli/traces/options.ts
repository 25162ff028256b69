import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { type TraceFormat, type TraceOptions, traceFormats } from '../../app/export-traces.ts'

/** Where trials are read from. */
export const pathOption = () =>
  new Option('-p, --path <path...>', 'jobs, trials, or directories of them, from ot-agent or Harbor, packed or not')

/** Where a bare job name is looked up. */
export const jobsDirOption = () =>
  new Option('-o, --jobs-dir <dir>', 'where to look up job names without a path').default('jobs')

export const recursiveOption = () => new Option('--recursive', 'look for jobs and trials at any depth')

/** The form of a row's conversation. */
export const formOption = () =>
  new Option(
    '--form <form>',
    'exact: what was sent to the model and what it replied, for training; readable: the parsed trajectory as Harbor renders it, for reading',
  )
    .choices(['exact', 'readable'] as const satisfies readonly TraceOptions['form'][])
    .default('exact' as const)

export const reasoningOption = () =>
  new Option('--reasoning <where>', 'column: in its own column; inline: also before each reply, in <think> tags')
    .choices(['column', 'inline'] as const satisfies readonly TraceOptions['reasoning'][])
    .default('column' as const)

/** One row per agent turn, or one per trial. */
export const episodesOption = () =>
  new Option(
    '--episodes <which>',
    'last: whole conversations, one row for each context the agent had; all: one row for each reply',
  )
    .choices(['last', 'all'] as const satisfies readonly TraceOptions['episodes'][])
    .default('last' as const)

export const filterOption = () =>
  new Option('--filter <which>', 'trials to keep, by result; success: a reward above 0 and no exception')
    .choices(['success', 'failure', 'all'] as const satisfies readonly TraceOptions['filter'][])
    .default('all' as const)

export const subagentsOption = () =>
  new Option(
    '--subagents <policy>',
    'what to do with conversations of subagents: drop them, give them their own rows, or (--form readable) merge them into the main one',
  )
    .choices(['drop', 'separate', 'inline'] as const satisfies readonly TraceOptions['subagents'][])
    .default('separate' as const)

export const turnsOption = () =>
  new Option(
    '--turns <how>',
    'with --form readable; alternate: merge consecutive messages of one role; recorded: message by message, as Harbor exports',
  )
    .choices(['alternate', 'recorded'] as const satisfies readonly TraceOptions['turns'][])
    .default('alternate' as const)

/** Parses `parquet,jsonl`. */
export function parseFormats(text: string): TraceFormat[] {
  const formats = text.split(',').map((name) => {
    const format = traceFormats.find((known) => known === name.trim())
    if (!format) throw new InvalidArgumentError(`expected ${traceFormats.join(' or ')}, got ${JSON.stringify(name)}`)
    return format
  })
  return [...new Set(formats)]
}
