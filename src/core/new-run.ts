import { z } from 'zod'

/** How many texts one request may hold, and how long each may be: far more than a person types. */
const mostTexts = 50
const mostChars = 2000

/** A text that becomes one word of a command line. It cannot pass for an option, and cannot break a terminal. */
const word = z
  .string()
  .min(1, 'expected some text, got an empty string')
  .max(mostChars, `expected at most ${mostChars} characters`)
  .refine((text) => !text.startsWith('-'), 'expected a text that does not start with a dash')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused.
  .refine((text) => !/[\u0000-\u001f\u007f]/.test(text), 'expected a text without control characters')

const words = z.array(word).max(mostTexts, `expected at most ${mostTexts} lines`).readonly()

/** `key=value`; a key cannot start with a dash, so none passes for an option. */
const assignments = z
  .array(word.refine((text) => text.indexOf('=') > 0, 'expected KEY=VALUE'))
  .max(mostTexts, `expected at most ${mostTexts} lines`)
  .readonly()

const whole = (least: number) => z.int(`expected a whole number of at least ${least}`).min(least).max(1_000_000)

const jobFields = {
  /** Where the job is kept: one of the directories of jobs that the viewer shows. */
  jobsDir: word,
  jobName: word
    .max(200, 'expected at most 200 characters')
    .refine((name) => !/[/\\]/.test(name) && !/^\.+$/.test(name), 'expected a name without slashes'),
  tasks: word.optional(),
  dataset: word.optional(),
  fetch: z.literal(true).optional(),
  include: words.optional(),
  limit: whole(1).optional(),
  agent: word.optional(),
  agentOptions: assignments.optional(),
  models: words.optional(),
  apiBase: word.optional(),
  apiKeyEnv: word.optional(),
  engine: word.optional(),
  engineOptions: assignments.optional(),
  sandbox: word.optional(),
  sandboxOptions: assignments.optional(),
  attempts: whole(1).optional(),
  concurrency: whole(1).optional(),
  maxRetries: whole(0).optional(),
  budgetUsd: z.number('expected a number above 0').positive('expected a number above 0').max(1e9).optional(),
  passEnv: words.optional(),
}

/** What the page for a new run may ask for: some options of `run`, `eval run` and `recipe run`, each with its type. */
export const newRunSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('run'), ...jobFields }),
  z.strictObject({ kind: z.literal('eval'), benchmark: word.optional(), ...jobFields }),
  z.strictObject({
    kind: z.literal('recipe'),
    file: word,
    out: word.optional(),
    set: assignments.optional(),
    limit: whole(1).optional(),
    rehearse: z.literal(true).optional(),
    passEnv: words.optional(),
  }),
])

export type NewRun = z.output<typeof newRunSchema>
export type NewJobRun = Exclude<NewRun, { readonly kind: 'recipe' }>

/** An earlier job as an editable request. */
export interface PreviousRun {
  readonly run: Partial<NewJobRun> & Pick<NewJobRun, 'kind'>
  /** Settings of the job that the page has no field for, or whose values were not kept. */
  readonly missing: readonly string[]
}

/** A run that the page started. */
export interface StartedRun {
  readonly id: string
  readonly title: string
  readonly command: string
  readonly pid: number
  readonly startedAt: string
  readonly state: 'running' | 'stopping' | 'ended'
  /** How it ended: `exit code 2`. */
  readonly exit: string | null
  /** The file with all of its output, and the end of that output. */
  readonly log: string
  readonly says: string
  /** The id of its job, once known. */
  readonly job: string | null
}

/** What the page for a new run starts with. */
export interface RunForm {
  /** Relative paths are resolved from here. */
  readonly dir: string
  readonly jobsDirs: readonly string[]
  readonly known: Readonly<Record<'agents' | 'engines' | 'sandboxes' | 'benchmarks' | 'recipes', readonly string[]>>
  /** Ids of jobs that can be repeated with changes, newest first. */
  readonly previous: readonly string[]
}

/** What a draft of a run amounts to: a command, or what is wrong with it. */
export interface RunPreview {
  readonly command: string | null
  readonly problems: readonly { readonly field: string; readonly message: string }[]
}
