import type { TraceContent, TrialStep } from '../../app/traces/trial-steps.ts'
import { oneLine, visible } from '../../lib/visible.ts'

/** One step of a trajectory for a terminal; of texts longer than `limit` the middle is left out. */
export function renderStep({ said: step, calls }: TrialStep, number: number, limit: number): string {
  const tokens = step.metrics
    ? `${step.metrics.prompt_tokens ?? '?'} in, ${step.metrics.completion_tokens ?? '?'} out`
    : null
  const facts = [step.timestamp, step.model_name, tokens, step.is_copied_context ? 'copied context' : null]
  const head = [`[${number}] ${step.source}`, ...facts.filter((fact) => fact != null)].join('  ')
  const parts: [string, string][] = [
    ['thinks', step.reasoning_content ?? ''],
    ['says', textWithMedia(step.message)],
    ...calls.map((call): [string, string] => ['calls', call.split('\n').slice(1, -1).join('\n')]),
    ...(step.observation?.results ?? []).map((result): [string, string] => ['sees', textWithMedia(result.content)]),
  ]
  const shown = parts.filter(([, text]) => text !== '')
  return [visible(oneLine(head)), ...shown.map(([verb, text]) => `  ${verb}:\n${indented(text, limit)}`)].join('\n')
}

function indented(text: string, limit: number): string {
  return visible(shortened(text, limit))
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n')
}

function shortened(text: string, limit: number): string {
  if (text.length <= limit) return text
  const half = Math.floor(limit / 2)
  const left = text.length - 2 * half
  return `${text.slice(0, half)}\n[... ${left} more characters, --full shows them ...]\n${text.slice(-half)}`
}

function textWithMedia(content: TraceContent | null | undefined): string {
  if (content === null || content === undefined) return ''
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? (part.text ?? '') : `[${part.type}]`)).join('\n')
}
