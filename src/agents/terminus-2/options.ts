import { randomUUID } from 'node:crypto'
import { z } from 'zod'

const turns = z.int().positive().nullish()
const texts = z.record(z.string(), z.string())
const values = z.record(z.string(), z.unknown())
const times = z.int().positive()

/** Keyword arguments with Harbor's names, and some of our own; others are refused. */
export const optionsSchema = z
  .strictObject({
    max_turns: turns,
    max_episodes: turns,
    episodes: turns,
    parser_name: z.enum(['json', 'xml']).default('json'),
    api_base: z.string().nullish().describe('Address of the model server. Used by the model client, not by the agent.'),
    temperature: z
      .number()
      .min(0)
      .nullish()
      .describe('Sent only if set, because servers and models have their own defaults.'),
    reasoning_effort: z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'default']).nullish(),
    collect_rollout_details: z.boolean().default(false),
    session_id: z.string().min(1).nullish().describe('Sent only if set, because not every server supports it.'),
    enable_summarize: z.boolean().default(true),
    proactive_summarization_threshold: z
      .int()
      .nonnegative()
      .nullish()
      .describe(
        'Hand off when fewer tokens than this are free. Default: 8000, or a quarter of a context below 32,000.',
      ),
    max_thinking_tokens: z.int().positive().nullish(),
    model_info: z
      .looseObject({
        max_input_tokens: z.int().positive().nullish(),
        max_tokens: z.int().positive().nullish(),
        max_output_tokens: z.int().positive().nullish(),
        input_cost_per_token: z.number().nonnegative().nullish(),
        output_cost_per_token: z.number().nonnegative().nullish(),
      })
      .nullish(),
    trajectory_config: z
      .strictObject({ raw_content: z.boolean().default(false), linear_history: z.boolean().default(false) })
      .nullish(),
    tmux_pane_width: z.int().min(40).max(1000).default(160),
    tmux_pane_height: z.int().min(10).max(1000).default(40),
    store_all_messages: z.boolean().default(false),
    record_terminal_session: z.boolean().default(true),
    interleaved_thinking: z.boolean().default(false),
    suppress_max_turns_warning: z.boolean().default(false),
    use_responses_api: z.literal(false, { error: 'the responses API is not supported, only chat' }).nullish(),
    llm_backend: z.literal('litellm', { error: 'only the usual backend is supported, called litellm' }).nullish(),
    llm_kwargs: values.nullish().describe("Settings for every call, with the API's names."),
    llm_call_kwargs: values.nullish(),
    extra_env: texts.nullish(),
    prompt_template_path: z
      .string()
      .nullish()
      .describe(
        'A file is your own template for the instruction; a folder has templates for any of the texts that the agent sends.',
      ),
    prompts: z
      .enum(['ours', 'harbor'])
      .default('ours')
      .describe('`harbor`: use the texts of the Harbor installed on this machine.'),
    harbor_python: z
      .string()
      .nullish()
      .describe('The Python that has Harbor installed (default: that of the program harbor, or python3).'),
    response_length_exceeded_policy: z.enum(['recover', 'abort']).default('recover'),
    collect_engine_metrics: z
      .unknown()
      .optional()
      .describe('Accepted for compatibility with a fork of Harbor; the job measures its engine itself.'),
    metrics_endpoint: z.unknown().optional(),
    wait: z
      .enum(['idle', 'full'])
      .default('idle')
      .describe('`idle`: stop waiting for a command when the shell is idle again. `full`: wait for its full duration.'),
    observations: z
      .enum(['pane', 'compact', 'lines'])
      .default('pane')
      .describe(
        "`pane`: what a tmux pane shows, as in Harbor's agent. `compact`: the same without empty rows. `lines`: every new line, once.",
      ),
    newline_key: z
      .enum(['C-j', 'Enter'])
      .default('C-j')
      .describe('The key that ends a line: `C-j` as tmux does, `Enter` as a person does.'),
    tell_deadline: z.boolean().default(false).describe('Tell the model how much time is left.'),
    max_parse_errors: times.default(10).describe('Stop the run after this many unusable replies in a row.'),
    max_length_recoveries: times.default(5),
    max_content_filters: times.default(3),
    max_context_recoveries: times.default(3),
  })
  .superRefine(({ max_turns, max_episodes, episodes }, context) => {
    const said = new Set([max_turns, max_episodes, episodes].filter((value) => value != null))
    if (said.size < 2) return
    const message = `max_turns, max_episodes and episodes mean the same, got ${[...said].join(' and ')}`
    context.addIssue({ code: 'custom', path: ['max_turns'], message })
  })

export type Options = z.output<typeof optionsSchema>

/** The settings of one run, ready for use. */
export interface Settings {
  readonly maxTurns: number
  readonly isTurnsLimited: boolean
  readonly parser: 'json' | 'xml'
  readonly temperature: number | null
  readonly reasoningEffort: string | null
  readonly collectTokens: boolean
  readonly sessionId: string
  /** Whether servers are told the session id. */
  readonly sendsSessionId: boolean
  readonly summarize: boolean
  readonly keepFreeTokens: number | null
  readonly maxThinkingTokens: number | null
  readonly modelInfo: ModelInfo
  readonly rawContent: boolean
  readonly linearHistory: boolean
  readonly cols: number
  readonly rows: number
  readonly storeAllMessages: boolean
  readonly recordTerminal: boolean
  readonly interleavedThinking: boolean
  /** By the API's names. */
  readonly callSettings: Readonly<Record<string, unknown>>
  readonly extraEnv: Readonly<Record<string, string>>
  readonly abortOnLength: boolean
  readonly wait: 'idle' | 'full'
  readonly observations: 'pane' | 'compact' | 'lines'
  readonly newlineKey: 'C-j' | 'Enter'
  readonly tellDeadline: boolean
  readonly caps: Caps
  /** Lines for the log. */
  readonly notes: readonly string[]
}

export interface ModelInfo {
  readonly maxInputTokens: number | null
  readonly maxOutputTokens: number | null
  readonly inputUsdPerToken: number | null
  readonly outputUsdPerToken: number | null
}

/** How often in a row something may go wrong. */
export interface Caps {
  readonly 'parse-errors': number
  readonly 'output-length': number
  readonly 'content-filter': number
  readonly context: number
}

const unlimitedTurns = 1_000_000

/** The settings of a run; a run without a session id gets a new one. */
export function makeSettings(options: Options): Settings {
  const turns = options.max_turns ?? options.max_episodes ?? options.episodes ?? null
  return {
    maxTurns: turns ?? unlimitedTurns,
    isTurnsLimited: turns !== null,
    parser: options.parser_name,
    temperature: options.temperature ?? null,
    reasoningEffort: options.reasoning_effort === 'default' ? null : (options.reasoning_effort ?? null),
    collectTokens: options.collect_rollout_details,
    sessionId: options.session_id ?? randomUUID(),
    sendsSessionId: options.session_id != null,
    summarize: options.enable_summarize,
    keepFreeTokens: options.proactive_summarization_threshold ?? null,
    maxThinkingTokens: options.max_thinking_tokens ?? null,
    modelInfo: {
      maxInputTokens: options.model_info?.max_input_tokens ?? options.model_info?.max_tokens ?? null,
      maxOutputTokens: options.model_info?.max_output_tokens ?? null,
      inputUsdPerToken: options.model_info?.input_cost_per_token ?? null,
      outputUsdPerToken: options.model_info?.output_cost_per_token ?? null,
    },
    rawContent: options.trajectory_config?.raw_content ?? false,
    linearHistory: options.trajectory_config?.linear_history ?? false,
    cols: options.tmux_pane_width,
    rows: options.tmux_pane_height,
    storeAllMessages: options.store_all_messages,
    recordTerminal: options.record_terminal_session,
    interleavedThinking: options.interleaved_thinking,
    callSettings: { ...options.llm_kwargs, ...options.llm_call_kwargs },
    extraEnv: options.extra_env ?? {},
    abortOnLength: options.response_length_exceeded_policy === 'abort',
    wait: options.wait,
    observations: options.observations,
    newlineKey: options.newline_key,
    tellDeadline: options.tell_deadline,
    caps: {
      'parse-errors': options.max_parse_errors,
      'output-length': options.max_length_recoveries,
      'content-filter': options.max_content_filters,
      context: options.max_context_recoveries,
    },
    notes: notesOn(options, turns),
  }
}

function notesOn(options: Options, turns: number | null): string[] {
  const unused = (['collect_engine_metrics', 'metrics_endpoint'] as const).filter((name) => options[name] !== undefined)
  return [
    ...unused.map((name) => `option ${name} is ignored: the job measures its engine itself`),
    ...(turns !== null && !options.suppress_max_turns_warning ? [`stops after ${turns} turns, done or not`] : []),
  ]
}
