import { Command } from '@commander-js/extra-typings'
import { wholeNumber } from '../../app/flags/values.ts'
import { type TraceContent, type TrialStep, trialSteps } from '../../app/traces/trial-steps.ts'
import { UserError } from '../../core/errors.ts'
import { oneLine, visible } from '../../lib/visible.ts'
import { shortened } from '../fit.ts'

/** `ot-agent traces show`: shows what was said and done in one trial. */
export default () =>
  new Command()
    .description('Prints the trajectory of a trial step by step. Control characters are shown as escapes.')
    .argument('<trial>', 'JOB/TRIAL, where JOB is a job directory or the name of a job in --jobs-dir')
    .option('-o, --jobs-dir <dir>', 'where to look up a job name without a path', 'jobs')
    .option('--step <n>', 'only this step, in full', wholeNumber(1))
    .option('--full', 'do not shorten long texts')
    .action(async (given, { jobsDir, step, full }) => {
      const steps = await trialSteps(given, jobsDir)
      const limit = full || step !== undefined ? Number.POSITIVE_INFINITY : shownChars
      if (step !== undefined && step > steps.length)
        throw new UserError(
          `--step: expected a number up to ${steps.length}, got ${step}`,
          'choose a step in that range, or remove --step to see all',
        )
      for (const [index, each] of steps.entries()) {
        if (step !== undefined && step !== index + 1) continue
        const title = each.begins === null ? '' : `== ${visible(oneLine(each.begins))}\n\n`
        process.stdout.write(`${title}${renderStep(each, index + 1, limit)}\n\n`)
      }
    })

/** Only the beginning and end of a longer text are shown. */
const shownChars = 4000

/** Renders one step of a trajectory for a terminal, cutting the middle out of texts longer than `limit`. */
function renderStep({ said: step, calls }: TrialStep, number: number, limit: number): string {
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

function textWithMedia(content: TraceContent | null | undefined): string {
  if (content === null || content === undefined) return ''
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? (part.text ?? '') : `[${part.type}]`)).join('\n')
}
