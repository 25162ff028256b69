import { journalName } from '../../core/task-paths.ts'
import type { Drop, TrialFile } from '../../core/trace.ts'
import { readTraceTrajectory, type TraceStep, type TraceTrajectory } from './trajectory.ts'
import { mediaIn, type Turn, turnsOfStep } from './turns.ts'

/** A drop without its step, which the caller knows. */
export type Trouble = Pick<Drop, 'reason' | 'detail'>
export type Read<T> = { readonly good: T } | { readonly trouble: Trouble }

/** A subagent's trajectory and its name, for example `summarization-1-summary`. */
export interface Subagent {
  readonly label: string
  /** How steps refer to it: by file name or id. */
  readonly names: readonly string[]
  readonly read: Read<TraceTrajectory>
}

const main = 'trajectory.json'

/**
 * How to treat a trajectory with images: traces are text, and a model trained on such a trace would learn to answer
 * without looking.
 */
type Media = 'refused' | 'kept'

/** The trajectory of a trial or step, across all files it continues in; complete, or what is wrong with it. */
export function readMain(files: readonly TrialFile[], media: Media = 'refused'): Read<readonly TraceTrajectory[]> {
  const chain: TraceTrajectory[] = []
  const seen = new Set<string>()
  for (let name: string | null | undefined = main; name; ) {
    const file = files.find((each) => each.name === name)
    if (!file && chain.length === 0) return missing(files)
    if (!file || seen.has(name))
      return trouble(
        'trajectory-unreadable',
        `continues in ${quoted(name)}, which ${file ? 'came before' : 'is missing'}`,
      )
    const read = readFile(file, media)
    if ('trouble' in read) return read
    seen.add(name)
    chain.push(read.good)
    name = read.good.continued_trajectory_ref
  }
  return { good: chain }
}

function missing(files: readonly TrialFile[]): { readonly trouble: Trouble } {
  const journal = files.some(({ name }) => name === journalName)
  const detail = journal ? `only ${journalName}: the agent never finished` : 'the agent wrote no agent/trajectory.json'
  return trouble('no-trajectory', detail)
}

/** The trajectories of subagents: separate files, and those nested in the main one. */
export function readSubagents(files: readonly TrialFile[], chain: readonly TraceTrajectory[]): Subagent[] {
  const beside = files.flatMap((file): Subagent[] => {
    const label = /^trajectory\.(?!cont-)(.+)\.json$/.exec(file.name)?.[1]
    return label === undefined ? [] : [{ label, names: [file.name], read: readFile(file, 'refused') }]
  })
  const inside = chain.flatMap(({ subagent_trajectories: held }) =>
    (held ?? []).map((trajectory): Subagent => {
      const label = trajectory.trajectory_id ?? trajectory.agent.name
      return { label, names: [label], read: withoutMedia(trajectory, label) }
    }),
  )
  return [...beside.sort((a, b) => (a.label < b.label ? -1 : 1)), ...inside]
}

function readFile(file: TrialFile, media: Media): Read<TraceTrajectory> {
  if (file.size > file.bytes.length)
    return trouble(
      'trajectory-too-large',
      `${quoted(file.name)} has ${file.size} bytes, and ${file.bytes.length} are read`,
    )
  const read = readTraceTrajectory(file.bytes)
  if ('wrong' in read) return trouble('trajectory-unreadable', `${quoted(file.name)}: ${read.wrong}`)
  return media === 'kept' ? { good: read } : withoutMedia(read, file.name)
}

function withoutMedia(trajectory: TraceTrajectory, name: string): Read<TraceTrajectory> {
  const media = mediaIn(trajectory)
  return media
    ? trouble('images', `${quoted(name)}: step ${media.step} holds ${quoted(media.type)}`)
    : { good: trajectory }
}

function trouble(reason: Trouble['reason'], detail: string): { readonly trouble: Trouble } {
  return { trouble: { reason, detail } }
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 200))
}

/** The turns of the subagents that a step refers to, each under its speaker's name, without copied context. */
export function inlineTurns(step: TraceStep, subagents: readonly Subagent[]): Turn[] {
  const names = namesIn(step)
  return subagents
    .filter((subagent) => subagent.names.some((name) => names.includes(name)))
    .flatMap(({ label, read }) => ('good' in read ? transcript(label, read.good) : []))
}

/** The subagents a step refers to, by file name or id. */
export function namesIn(step: TraceStep): string[] {
  const refs = (step.observation?.results ?? []).flatMap((result) => result.subagent_trajectory_ref ?? [])
  return refs
    .flatMap((ref) => [ref.trajectory_id, ref.trajectory_path?.split('/').at(-1)])
    .filter((name) => name != null)
}

function transcript(label: string, { steps }: TraceTrajectory): Turn[] {
  const turns = steps.filter((step) => step.is_copied_context !== true).flatMap(turnsOfStep)
  return turns.map((turn) => ({
    ...turn,
    content: `[subagent:${label}] ${turn.role.toUpperCase()}: ${turn.content}`,
  }))
}
