import { withoutLoneSurrogates, withoutShellNoise } from './clean.ts'
import { renderToolCall } from './tool-call.ts'
import type { TraceContent, TraceStep, TraceTrajectory } from './trajectory.ts'

/** One turn of a conversation. */
export interface Turn {
  readonly role: 'user' | 'assistant'
  readonly content: string
  /** True for a turn copied from an earlier trajectory: context, not to be learned from again. */
  readonly copied: boolean
}

/** A conversation up to one of the agent's own turns. */
export interface Episode {
  /** The index among the agent's own turns in its trajectory, from 0. */
  readonly index: number
  readonly turns: readonly Turn[]
}

export interface EpisodeOptions {
  /** `last`: only the conversation that ends with the agent's last own turn. */
  readonly episodes: 'all' | 'last'
  /** Returns the subagents' turns to insert after a step. */
  readonly inlined?: (step: TraceStep) => readonly Turn[]
}

/** The conversations in a trajectory: each ends with a turn of the agent that was not copied from elsewhere. */
export function* episodesOf(trajectory: TraceTrajectory, options: EpisodeOptions): Generator<Episode, void, void> {
  const last = ownTurns(trajectory) - 1
  const toolsAt = trajectory.steps.findIndex(({ source }) => source === 'system')
  const before: Turn[] = []
  let index = 0
  for (const [at, step] of trajectory.steps.entries()) {
    const [said, ...observed] = turnsOfStep(step)
    const turn = at === toolsAt ? { ...said, content: toolsText(trajectory) + said.content } : said
    before.push(turn)
    if (step.source === 'agent' && !turn.copied) {
      if (options.episodes === 'all' || index === last) yield { index, turns: [...before] }
      if (index === last) return
      index++
    }
    before.push(...observed, ...(options.inlined?.(step) ?? []))
  }
}

/** What a step adds to a conversation: what was said, and what the agent then saw. */
export function turnsOfStep(step: TraceStep): [said: Turn, ...observed: Turn[]] {
  const copied = step.is_copied_context === true
  if (step.source !== 'agent') return [{ role: 'user', content: userText(textOf(step.message)), copied }]
  const said: Turn = { role: 'assistant', content: assistantText(step), copied }
  const observed = observationText(step)
  return observed === null ? [said] : [said, { role: 'user', content: observed, copied }]
}

/** How many turns of a trajectory are the agent's own. */
export function ownTurns({ steps }: TraceTrajectory): number {
  return steps.reduce((sum, step) => sum + (step.source === 'agent' && step.is_copied_context !== true ? 1 : 0), 0)
}

/** Merges consecutive turns of the same role, so that user and assistant alternate. */
export function alternate(turns: readonly Turn[]): Turn[] {
  const merged: Turn[] = []
  for (const turn of turns) {
    const before = merged.at(-1)
    if (before?.role !== turn.role) {
      merged.push(turn)
      continue
    }
    const content = [before.content, turn.content].filter((text) => text !== '').join('\n\n')
    merged[merged.length - 1] = { role: turn.role, content, copied: before.copied && turn.copied }
  }
  return merged
}

/** A message's text; non-text parts are ignored, because messages with them are not exported. */
export function textOf(content: TraceContent | null | undefined): string {
  if (content === null || content === undefined) return ''
  if (typeof content === 'string') return content
  return content.flatMap((part) => part.text ?? []).join('\n')
}

/** The kind and step of the first non-text part in a trajectory; null if everything is text. */
export function mediaIn({ steps }: TraceTrajectory): { readonly type: string; readonly step: number } | null {
  for (const [index, step] of steps.entries()) {
    const contents = [step.message, ...(step.observation?.results ?? []).map((result) => result.content)]
    for (const content of contents) {
      const media = Array.isArray(content) ? content.find(({ type }) => type !== 'text') : undefined
      if (media) return { type: media.type, step: index + 1 }
    }
  }
  return null
}

/**
 * A model's reply with its reasoning, text and calls. If a closing tag lacks its opening one, the opening one was part
 * of the prompt.
 */
function assistantText(step: TraceStep): string {
  const message = textOf(step.message)
  const orphan = message.includes('</think>') && !message.includes('<think>')
  const parts = [
    step.reasoning_content ? `<think>${step.reasoning_content}</think>` : '',
    orphan ? `<think>${message}` : message,
  ].filter((text) => text !== '')
  const calls = (step.tool_calls ?? []).map((call) => renderToolCall(call.function_name, call.arguments ?? {}))
  return withoutLoneSurrogates([...parts, ...calls].join('\n'))
}

function observationText(step: TraceStep): string | null {
  const contents = (step.observation?.results ?? []).flatMap(({ content }) =>
    content === null || content === undefined ? [] : [textOf(content)],
  )
  return contents.length === 0 ? null : userText(contents.join('\n'))
}

function userText(text: string): string {
  return withoutShellNoise(withoutLoneSurrogates(text))
}

/** The tool definitions as text before the first system message, where a chat template would put them. */
function toolsText({ agent }: TraceTrajectory): string {
  const tools = agent.tool_definitions ?? []
  return tools.length === 0 ? '' : `<tools>\n${JSON.stringify(tools, null, 2)}\n</tools>\n\n`
}
