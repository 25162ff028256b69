import { join } from 'node:path'
import type { AgentAt, AgentExit } from '../../core/agent.ts'
import { blame, UserError } from '../../core/errors.ts'
import type { ModelClient } from '../../core/model.ts'
import { mask } from '../../core/redact.ts'
import { openJournal } from '../../formats/atif/journal.ts'
import type { FinalMetrics } from '../../formats/atif/trajectory.ts'
import { msUntil } from '../../lib/deadline.ts'
import { maskedJson } from '../../lib/jsonl.ts'
import { readJson } from '../../lib/parse-json.ts'
import { AppendLog } from '../../lib/terminal/append-log.ts'
import { Cast } from '../../lib/terminal/cast.ts'
import { promptMarkEnv } from '../../lib/terminal/idle.ts'
import { SecretStream } from '../../lib/terminal/secret-stream.ts'
import { TerminalSession } from '../../lib/terminal/session.ts'
import { Calls, OutOfBudget } from './calls.ts'
import { Chat } from './chat.ts'
import { EpisodeFiles } from './episode-files.ts'
import { fullInstruction, type Template } from './instruction.ts'
import { limitsOf } from './limits.ts'
import { runLoop } from './loop.ts'
import type { Settings } from './options.ts'
import { jsonDialect } from './parse-json.ts'
import { xmlDialect } from './parse-xml.ts'
import type { Prompts } from './prompts.ts'
import { Rollouts } from './rollout.ts'
import type { Run, StopReason } from './run.ts'
import { Story } from './trajectory.ts'

/** What an agent was made with. */
export interface Making {
  readonly identity: { readonly name: string; readonly version: string }
  readonly settings: Settings
  readonly template: Template | null
  readonly prompts: Prompts
  /** Settings of the calls in a form that may be recorded. */
  readonly shownCallSettings: Readonly<Record<string, unknown>>
}

/** How long to wait for the shell to start, and then for its first prompt. */
const firstLimits = { outputMs: 30_000, promptMs: 3000 }

/**
 * One run, from opening the terminal to the reason it stopped. All its state is created here, so that a task's steps do
 * not mix.
 */
export async function solve(at: AgentAt, making: Making): Promise<AgentExit> {
  const client = clientOf(at, making)
  for (const note of making.settings.notes) at.record.log(note)
  at.record.metadata({ prompts_digest: making.prompts.digest })
  const clock = startClock(at)
  let stop: StopReason | 'error' = 'error'
  try {
    stop = await untilStopped(at, making, client, clock)
    return exitOf(stop)
  } finally {
    clock.stop()
    at.record.metadata({ stop_reason: stop })
  }
}

function clientOf({ client }: AgentAt, { identity }: Making): ModelClient {
  if (client) return client
  throw new UserError(
    `agent ${identity.name} needs a model, got none`,
    'pass one with -m, and the address of its server with --api-base',
  )
}

async function untilStopped(at: AgentAt, making: Making, client: ModelClient, clock: Clock): Promise<StopReason> {
  try {
    const terminal = await openAgentTerminal(at, making.settings)
    try {
      return await converse(at, making, { client, signal: clock.signal, session: terminal.session })
    } finally {
      await terminal.leave()
    }
  } catch (error) {
    if (error instanceof OutOfBudget) return 'cost'
    if (clock.isUp && !at.signal.aborted) return 'time'
    throw error
  }
}

interface Conversation extends Pick<AgentTerminal, 'session'> {
  readonly client: ModelClient
  readonly signal: AbortSignal
}

/** The conversation itself. Its trajectory is rendered however it ends. */
async function converse(at: AgentAt, making: Making, { client, signal, session }: Conversation): Promise<StopReason> {
  const { settings, identity: agent, shownCallSettings } = making
  await session.ready(firstLimits, signal)
  const instruction = await fullInstruction({ ...at, signal }, making.template)
  const journal = await blame('store', () => openJournal(at.logsDir, at.mask))
  const calls = new Calls(client, settings, at.record, { signal, deadline: at.deadline })
  const story = new Story(journal, { settings, agent, model: client.model, shownCallSettings })
  const run: Run = {
    at,
    signal,
    client,
    settings,
    // Servers report their context size when they are first asked.
    get limits() {
      return limitsOf(settings, client)
    },
    prompts: making.prompts,
    dialect: settings.parser === 'json' ? jsonDialect : xmlDialect,
    session,
    instruction,
    calls,
    chat: new Chat(client, settings.interleavedThinking),
    rollouts: new Rollouts(),
    story,
    files: new EpisodeFiles(at.logsDir, at.mask),
    finalMetrics: () => metricsOf(calls),
  }
  try {
    return await runLoop(run)
  } finally {
    if (settings.storeAllMessages)
      at.record.metadata({ all_messages: readJson(maskedJson(run.chat.messages, at.mask)) })
    story.close({ final_metrics: run.finalMetrics() })
    await Promise.all([run.files.written(), blame('store', () => journal.finish())])
  }
}

function metricsOf({ totals }: Calls): FinalMetrics {
  return {
    total_prompt_tokens: totals.inputTokens ?? 0,
    total_completion_tokens: totals.outputTokens ?? 0,
    total_cached_tokens: totals.cacheTokens ?? 0,
    ...(totals.costUsd !== null && { total_cost_usd: totals.costUsd }),
  }
}

/** Too many useless replies in a row count as running out of turns. */
function exitOf(stop: StopReason): AgentExit {
  if (stop === 'task-complete' || stop === 'terminal-closed') return { kind: 'finished' }
  if (stop === 'context' || stop === 'cost' || stop === 'time') return { kind: 'limit', limit: stop }
  return { kind: 'limit', limit: 'turns' }
}

/** The time of one run. */
interface Clock {
  /** Aborts when the trial is stopped, or a moment before its time is up. */
  readonly signal: AbortSignal
  /** Whether the time ran out before anything else stopped the run. */
  readonly isUp: boolean
  stop(): void
}

/** Time reserved for recording how the run ended. */
const reserveMs = 1000
const reserveShare = 0.05
const maxTimerMs = 2 ** 31 - 1

/** Starts a run's clock. */
function startClock({ deadline, signal }: Pick<AgentAt, 'deadline' | 'signal'>): Clock {
  const controller = new AbortController()
  let isUp = false
  const pass = () => controller.abort(signal.reason)
  const ring = () => {
    isUp = !signal.aborted
    controller.abort()
  }
  const leftMs = deadline === null ? Number.POSITIVE_INFINITY : msUntil(deadline)
  const ringMs = leftMs - Math.min(reserveMs, leftMs * reserveShare)
  const timer = ringMs < maxTimerMs ? setTimeout(ring, Math.max(0, ringMs)) : undefined
  signal.addEventListener('abort', pass, { once: true })
  if (signal.aborted) pass()
  return {
    signal: controller.signal,
    get isUp() {
      return isUp
    },
    stop() {
      clearTimeout(timer)
      signal.removeEventListener('abort', pass)
    },
  }
}

const paneLimitBytes = 16 * 1024 * 1024

/** The TERM that programs see: that of tmux, if the image knows it. */
const term = `for d in /etc /lib /usr/lib /usr/share; do [ -e $d/terminfo/t/tmux-256color ] && export TERM=tmux-256color; done`

/** A login bash, or whatever shell exists; text is UTF-8 unless the image says otherwise. */
const shell = `${term}; export LANG="\${LANG:-C.UTF-8}"; SHELL=$(command -v bash) && export SHELL && exec bash --login; exec sh -l`

/** The agent's terminal, whose output is kept in the trial's files. */
interface AgentTerminal {
  readonly session: TerminalSession
  /** Stops watching and recording. Programs in the terminal keep running: services are part of a solution. */
  leave(): Promise<void>
}

/** Opens a terminal on a login shell in the task's sandbox. */
async function openAgentTerminal(at: AgentAt, settings: Settings): Promise<AgentTerminal> {
  const { cols, rows } = settings
  const env = { TERM: 'xterm-256color', ...promptMarkEnv, ...settings.extraEnv, ...at.env }
  const argv = ['sh', '-c', shell]
  const pty = await at.sandbox.openTerminal({ cols, rows, argv, env, ...(at.user !== undefined && { user: at.user }) })
  const secrets = { texts: at.secrets, mask }
  const cast = settings.recordTerminal ? new Cast(join(at.logsDir, 'recording.cast'), { cols, rows, secrets }) : null
  const notice = '\n[... the log ends here: it reached its size limit ...]\n'
  const pane = new AppendLog(join(at.logsDir, 'terminus_2.pane'), { bytes: paneLimitBytes, notice })
  const hidden = new SecretStream(at.secrets, mask)
  const onOutput = (chunk: string) => pane.append(hidden.push(chunk))
  const session = new TerminalSession(pty, {
    cols,
    rows,
    onOutput,
    newline: settings.newlineKey,
    ...(cast && { cast }),
  })
  return {
    session,
    async leave() {
      await session.leave()
      pane.append(hidden.end())
      await pane.close()
      const problem = cast?.problem ?? pane.problem
      if (problem) at.record.log(`terminal recording is not complete: ${problem.message}`)
      if (session.screen.skippedChars > 0) {
        at.record.log(`terminal: ${session.screen.skippedChars} characters of output came too fast and were left out`)
      }
    },
  }
}
