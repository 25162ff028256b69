import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { journalName } from '../../core/task-paths.ts'
import { exists, writeAtomic } from '../../lib/files.ts'
import { maskedJson, openJsonLines, readJsonLines } from '../../lib/jsonl.ts'
import { checkedTrajectory } from './parse.ts'
import type { FinalMetrics, Observation, Trajectory, TrajectoryStep } from './trajectory.ts'

const mainFile = 'trajectory.json'

export type TrajectoryHead = Pick<Trajectory, 'schema_version' | 'session_id' | 'trajectory_id' | 'agent' | 'extra'>
export type TrajectoryTail = Pick<Trajectory, 'final_metrics' | 'continued_trajectory_ref' | 'notes'>
export type NewStep = Omit<TrajectoryStep, 'step_id'>

/** A change to the trajectory in a file. Steps are numbered in order of arrival. */
export type JournalEvent =
  | { readonly kind: 'open'; readonly file: string; readonly head: TrajectoryHead }
  | { readonly kind: 'step'; readonly file: string; readonly step: NewStep }
  /** The result of the last step. */
  | { readonly kind: 'observe'; readonly file: string; readonly observation: Observation }
  | { readonly kind: 'close'; readonly file: string; readonly tail: TrajectoryTail }

/** Records events as they happen. Nothing is ever rewritten, and a run that dies loses at most its last event. */
export interface TrajectoryJournal {
  /** Never throws; `finish` throws what could not be written. */
  add(event: JournalEvent): void
  /** Renders every trajectory to its file, once, and removes the journal. */
  finish(): Promise<readonly string[]>
}

/** Opens the journal of a run that has none yet; every text passes through `mask` before it is written. */
export async function openJournal(dir: string, mask: (text: string) => string): Promise<TrajectoryJournal> {
  const path = join(dir, journalName)
  if (await exists(path)) throw new Error(`${path} is the journal of another run`)
  const lines = await openJsonLines(path)
  let failure: unknown = null
  return {
    add: (event) => {
      try {
        lines.appendText(maskedJson(event, mask))
      } catch (error) {
        failure ??= error
      }
    },
    finish: async () => {
      await lines.close()
      if (failure !== null) throw failure
      return recoverTrajectory(dir)
    },
  }
}

/**
 * Renders a directory's trajectories from its journal, even if the run died; returns the names of the files created. If
 * none of them is the main one, the longest becomes it. A directory that has its trajectory, or never had a journal, is
 * left alone.
 */
export async function recoverTrajectory(dir: string): Promise<readonly string[]> {
  const journal = join(dir, journalName)
  if (await exists(join(dir, mainFile))) return []
  const drafts = withMain(await readDrafts(journal))
  // Write the main file last, because it marks completion.
  const files = [...drafts.keys()].sort((a, b) => Number(a === mainFile) - Number(b === mainFile))
  for (const file of files) {
    const trajectory = checkedTrajectory(drafts.get(file), join(dir, file))
    await writeAtomic(join(dir, file), renderTrajectory(trajectory))
  }
  await rm(journal, { force: true })
  return files
}

/** An agent that does not use the API's tools has only side conversations; the longest is what it did. */
function withMain(drafts: Map<string, Draft>): Map<string, Draft> {
  if (drafts.has(mainFile) || drafts.size === 0) return drafts
  const [longest] = [...drafts].reduce((best, next) => (next[1].steps.length > best[1].steps.length ? next : best))
  return new Map([...drafts].map(([name, draft]) => [name === longest ? mainFile : name, draft]))
}

const file = z.string().regex(/^trajectory(?:\.[a-z0-9-]+)?\.json$/)
const fields = z.record(z.string(), z.unknown())
const eventSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('open'), file, head: fields }),
  z.object({ kind: z.literal('step'), file, step: fields }),
  z.object({ kind: z.literal('observe'), file, observation: fields }),
  z.object({ kind: z.literal('close'), file, tail: fields }),
])

interface Draft {
  readonly [key: string]: unknown
  readonly steps: Record<string, unknown>[]
}

async function readDrafts(journal: string): Promise<Map<string, Draft>> {
  const drafts = new Map<string, Draft>()
  const ended = new Set<string>()
  for await (const line of readJsonLines(journal)) {
    const { data: event } = eventSchema.safeParse(line)
    if (event === undefined) break
    const draft = drafts.get(event.file)
    if (event.kind === 'open') drafts.set(event.file, { ...event.head, steps: [] })
    else if (draft === undefined) throw new UserError(`${journal}: ${event.file} was never opened`, 'not our journal')
    else if (event.kind === 'step') draft.steps.push({ step_id: draft.steps.length + 1, ...event.step })
    else if (event.kind === 'observe') Object.assign(draft.steps.at(-1) ?? {}, { observation: event.observation })
    else {
      drafts.set(event.file, { ...draft, ...event.tail })
      ended.add(event.file)
    }
  }
  for (const [name, draft] of drafts) {
    if (draft.steps.length === 0) drafts.delete(name)
    else if (!ended.has(name)) drafts.set(name, { ...draft, ...tailOfDead(draft) })
  }
  return drafts
}

const counted = z.object({
  prompt_tokens: z.number().default(0),
  completion_tokens: z.number().default(0),
  cached_tokens: z.number().default(0),
  cost_usd: z.number().default(0),
})

function tailOfDead({ steps }: Draft): TrajectoryTail {
  const all = steps.flatMap((step) => counted.safeParse(step.metrics).data ?? [])
  const total = (key: keyof z.output<typeof counted>) => all.reduce((sum, metrics) => sum + metrics[key], 0)
  const final_metrics: FinalMetrics = {
    total_prompt_tokens: total('prompt_tokens'),
    total_completion_tokens: total('completion_tokens'),
    total_cached_tokens: total('cached_tokens'),
    ...(total('cost_usd') > 0 && { total_cost_usd: total('cost_usd') }),
  }
  return { final_metrics, notes: 'The run was interrupted; this trajectory was rebuilt from its journal.' }
}

/** Renders a trajectory like Harbor: two spaces, no absent fields, lists of numbers on one line, ASCII only. */
export function renderTrajectory(trajectory: Trajectory): string {
  return write(trajectory, '')
}

function write(value: unknown, pad: string): string {
  if (typeof value === 'string') return quote(value)
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'null'
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const inner = `${pad}  `
  if (Array.isArray(value)) return writeList(value, pad, inner)
  const fields = Object.entries(value).filter(([, item]) => item !== undefined)
  const lines = fields.map(([key, item]) => `${inner}${quote(key)}: ${write(item, inner)}`)
  return lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n${pad}}`
}

function writeList(list: readonly unknown[], pad: string, inner: string): string {
  if (list.length === 0) return '[]'
  if (list.every((item) => typeof item === 'number' && Number.isFinite(item))) return `[${list.join(', ')}]`
  return `[\n${list.map((item) => inner + write(item, inner)).join(',\n')}\n${pad}]`
}

function quote(text: string): string {
  return JSON.stringify(text).replace(/[\u0080-\uffff]/g, escapeUnit)
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}
