import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { exists } from '../../lib/files.ts'
import { splitShellWords } from '../../lib/shell-words.ts'
import { isJobOf } from '../../store/job-dir.ts'
import { runCommand } from '../run-command.ts'
import type { Evaluate } from './listen.ts'

/**
 * Evaluates a model with a user's command, started without a shell, after replacing `{model}`, `{benchmark}` and
 * `{job}` in its arguments. The command must create the job `{job}` in `jobsDir`. Whatever it leaves running in its
 * process group is stopped.
 */
export function evaluateByCommand(command: string, jobsDir: string): Evaluate {
  const words = splitShellWords(command)
  if (words === null || words.length === 0)
    throw new UserError(`expected a command, got ${JSON.stringify(command)}`, 'close all quotes')
  for (const name of ['{model}', '{job}'])
    if (!words.some((word) => word.includes(name)))
      throw new UserError(
        `expected ${name} in the command, found none`,
        "such as 'ot-agent run -d BENCHMARK -m {model} --job-name {job}'",
      )
  return async ({ model, benchmark, attempt, signal }) => {
    const job = await evaluationJob(jobsDir, { benchmark, model }, `-${attempt}`)
    const values: Readonly<Record<string, string>> = { model, benchmark, job }
    const filled = words.map((word) => word.replace(/\{(model|benchmark|job)\}/g, (all, name) => values[name] ?? all))
    await mkdir(jobsDir, { recursive: true })
    const log = join(jobsDir, `${job}.log`)
    const ended = await runCommand(filled, { log, signal })
    signal.throwIfAborted()
    if (ended !== 0) throw new Error(`the command ended with ${ended}; what it printed is in ${log}`)
    return { jobDir: join(jobsDir, job) }
  }
}

export interface Evaluation {
  readonly benchmark: string
  readonly model: string
}

/** The name of a model's job on a benchmark, safe as a file name. `org/a-b` and `org-a/b` get different ones. */
export function evaluationName({ benchmark, model }: Evaluation): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([benchmark, model]))
    .digest('hex')
  return `${oldEvaluationName({ benchmark, model })}-${digest.slice(0, 6)}`
}

/** The old naming scheme, in which models whose names differ in one character could share a name. */
export function oldEvaluationName({ benchmark, model }: Evaluation): string {
  const slug = (text: string) => text.replace(/[^\w.-]+/g, '-').replace(/^[.-]+/, '')
  return `${slug(benchmark)}-${slug(model)}`
}

/**
 * The name of a job in `jobsDir`, with `end` appended: the old name if such a job was started for exactly this model.
 */
export async function evaluationJob(jobsDir: string, evaluation: Evaluation, end = ''): Promise<string> {
  const name = `${evaluationName(evaluation)}${end}`
  const old = `${oldEvaluationName(evaluation)}${end}`
  if (await exists(join(jobsDir, name))) return name
  return (await isJobOf(join(jobsDir, old), evaluation.model)) ? old : name
}
