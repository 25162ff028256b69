import type { Agent, AgentAt, AgentExit, Recorder } from '../../core/agent.ts'
import { resolveEnv } from '../../core/env-template.ts'
import { BoundaryError, blame, messageOf } from '../../core/errors.ts'
import type { ModelClient, ModelRequest } from '../../core/model.ts'
import {
  emptyReplies,
  isBogusRefusal,
  isEmptyReply,
  noValidReply,
  refusedPrompt,
  wrapClient,
} from '../../core/model-replies.ts'
import type { Sandbox, SandboxLease, ToolDir } from '../../core/sandbox.ts'
import { expired, msUntil, withDeadline } from '../../lib/deadline.ts'
import { mkdir } from '../../lib/disk.ts'
import { estimateTokens } from '../../lib/estimate-tokens.ts'
import { exhaustedFailure } from '../exhausted.ts'
import { atBoundary, isGone, sandboxGone } from './boundary.ts'
import {
  type AgentTrial,
  agentDirOf,
  agentLimitSec,
  agentSetupLimitSec,
  type Round,
  type TrialContext,
} from './context.ts'
import { secretsOf } from './mask.ts'

/** Lets the agent find or install what its sandboxes share, while no sandbox is waiting. */
export async function findToolDirs(context: AgentTrial, record: Recorder): Promise<readonly ToolDir[]> {
  const { agent, signal } = context
  const limitSec = agentSetupLimitSec(context.config)
  const found = await atBoundary('agent', signal, () =>
    withDeadline(limitSec, signal, async (signal) => (await agent.toolDirs?.({ signal, record })) ?? []),
  )
  if (found === expired) throw notReady(context, limitSec)
  return found
}

/** What an agent gets before it works. */
interface AgentSetup {
  readonly toolDirs: readonly ToolDir[]
  readonly round: Round
  readonly record: Recorder
}

/** Lets the agent prepare its sandbox; running out of time is a failure here, because nothing has been solved yet. */
export async function prepareAgent(
  context: AgentTrial,
  lease: SandboxLease,
  { toolDirs, round, record }: AgentSetup,
): Promise<void> {
  const { agent, provider } = context
  const toUpload = provider.can.toolDirs ? [] : toolDirs
  if (!agent.prepare && toUpload.length === 0) return
  const limitSec = agentSetupLimitSec(context.config)
  const done = await withAgent(context, lease, { round, record, limitSec }, async (at) => {
    for (const { source, target } of toUpload) await at.sandbox.uploadDir(source, target)
    await agent.prepare?.(at)
  })
  if (done === expired) throw notReady(context, limitSec)
}

function notReady({ agent }: AgentTrial, limitSec: number | null): BoundaryError {
  const code = 'AgentSetupTimeoutError'
  return new BoundaryError('agent', `agent ${agent.name} was not ready within ${limitSec} s`, { code })
}

/** Lets the agent work. Running out of time is an exit like any other: its work is verified as it stands. */
export async function solve(
  context: AgentTrial,
  lease: SandboxLease,
  round: Round,
  record: Recorder,
): Promise<AgentExit> {
  const limitSec = agentLimitSec(round.agent, context.config)
  const heard = context.client && countReplies(modelOf(context, context.client, round))
  const conclude = (exit: AgentExit) => heard?.conclude(exit, context.agent, record) ?? exit
  const listening = heard ? { ...context, client: heard.client } : context
  const exit = await unlessDiverged(listening, (context) =>
    whileRoom(context, lease, (context) =>
      withAgent(context, lease, { round, record, limitSec }, (at) => context.agent.solve(at)),
    ),
  )
  if (exit !== expired) return conclude(exit)
  context.log(`agent ran out of time after ${limitSec} s`)
  return conclude({ kind: 'limit', limit: 'time' })
}

/** The model; for a resumed trial, first its replies to the interrupted attempt. */
function modelOf({ resumption, log }: AgentTrial, client: ModelClient, round: Round): ModelClient {
  return resumption?.client(round.step?.name ?? null, client, log) ?? client
}

/** Stops an agent whose replay diverged; anything it does after that is ignored. */
async function unlessDiverged<T>(context: AgentTrial, work: (context: AgentTrial) => Promise<T>): Promise<T> {
  const { resumption, signal } = context
  if (!resumption) return work(context)
  const diverged = () => {
    const message = 'the replay of an interrupted attempt diverged'
    return new BoundaryError('agent', message, { code: 'ReplayDivergedError', retryable: false })
  }
  try {
    const done = await work({ ...context, signal: AbortSignal.any([signal, resumption.signal]) })
    if (resumption.signal.aborted) throw diverged()
    return done
  } catch (error) {
    throw resumption.signal.aborted && !signal.aborted ? diverged() : error
  }
}

/** Stops an agent whose programs used more disk than the task allows: an exit like running out of time. */
async function whileRoom<T>(
  context: AgentTrial,
  lease: SandboxLease,
  work: (context: AgentTrial) => Promise<T>,
): Promise<T | AgentExit> {
  const { storage } = lease
  if (!storage) return work(context)
  // A freeze replaces the signal.
  const { full } = storage
  try {
    const done = await work({ ...context, signal: AbortSignal.any([context.signal, full]) })
    await storage.check()
    if (!full.aborted) return done
  } catch (error) {
    if (!full.aborted || context.signal.aborted) throw error
  }
  context.log(`agent ran out of disk space: ${messageOf(full.reason)}`)
  return { kind: 'limit', limit: 'storage' }
}

interface AgentCall {
  readonly round: Round
  readonly record: Recorder
  readonly limitSec: number | null
}

/** One call of the agent, with a sandbox that is revoked as soon as the call or its time is over. */
async function withAgent<T>(
  context: AgentTrial,
  lease: SandboxLease,
  { round, record, limitSec }: AgentCall,
  call: (at: AgentAt) => Promise<T>,
): Promise<T | typeof expired> {
  const loan = grantSandbox(lease)
  const logsDir = agentDirOf(round)
  const deadline = limitSec === null ? null : new Date(Date.now() + limitSec * 1000)
  // Computed now so that it stays fixed even if the clock is set while the agent works.
  if (deadline !== null) msUntil(deadline)
  try {
    await atBoundary('store', context.signal, () => mkdir(logsDir, { recursive: true }))
    const done = await atBoundary('agent', context.signal, () =>
      withDeadline(limitSec, context.signal, async (signal) =>
        call({ ...agentView(context, round, logsDir), sandbox: loan.sandbox, signal, deadline, logsDir, record }),
      ),
    )
    // An agent may take it for a failed command and give up.
    const exhausted = loan.exhausted()
    if (exhausted) throw exhausted
    return done
  } catch (error) {
    throw loan.exhausted() ?? (await diedUnderneath(context, lease, error)) ?? error
  } finally {
    loan.revoke()
  }
}

function agentView(context: AgentTrial, round: Round, logsDir: string) {
  const { task, config, client, exchanges } = context
  return {
    task,
    step: round.step && { name: round.step.name, dir: round.step.dir },
    instruction: round.instruction,
    user: round.agent.user,
    model: config.agent.modelName,
    client: client && exchanges.recorded(client, logsDir),
    env: resolveEnv(config.agent.env, context.hostEnv),
    mcpServers: task.environment.mcpServers,
    mask: context.mask,
    secrets: secretsOf(config, context.hostEnv),
  }
}

/** An agent that fails because its sandbox is gone is not to blame. */
async function diedUnderneath(
  context: TrialContext,
  lease: SandboxLease,
  error: unknown,
): Promise<BoundaryError | null> {
  if (context.signal.aborted || !(error instanceof BoundaryError) || error.boundary !== 'agent') return null
  return (await isGone(context, lease)) ? sandboxGone('while the agent worked', error) : null
}

/** The model replies an agent received in one round. */
interface CountedReplies {
  readonly client: ModelClient
  /** Throws when every reply was empty; marks a round whose agent received none. */
  conclude(exit: AgentExit, agent: Agent, record: Recorder): AgentExit
}

/**
 * Counts the replies that pass through a client, whichever agent makes the request. If a small first prompt is rejected
 * as too long, the call fails.
 */
export function countReplies(client: ModelClient): CountedReplies {
  let calls = 0
  let replies = 0
  let empty = 0
  return {
    client: wrapClient(client, async (request, options) => {
      const isFirst = ++calls === 1
      const outcome = await client.complete(request, options)
      if (isFirst && outcome.kind === 'context-exceeded') {
        const tokens = tokensOf(client, request)
        if (isBogusRefusal(tokens, client.facts)) throw refusedPrompt(tokens, client.model)
      }
      if (outcome.kind !== 'reply') return outcome
      replies++
      if (isEmptyReply(outcome.reply)) empty++
      return outcome
    }),
    conclude(exit, { needsModel = false }, record) {
      if (replies > 0 && empty === replies) throw emptyReplies(replies, client.model)
      if (replies === 0 && (calls > 0 || needsModel)) record.metadata(noValidReply)
      return exit
    },
  }
}

function tokensOf(client: ModelClient, { messages, tools = [] }: ModelRequest): number {
  return client.countTokens(messages).tokens + (tools.length > 0 ? estimateTokens(JSON.stringify(tools)) : 0)
}

/** A sandbox granted to an agent. */
interface SandboxGrant {
  readonly sandbox: Sandbox
  /** From now on, every call is refused and commands still running through this handle are stopped. */
  revoke(): void
  /** What this machine ran out of during a call, however the agent handled that. */
  readonly exhausted: () => BoundaryError | null
}

/**
 * Grants a sandbox to an agent: errors in it are blamed on the sandbox, and an agent that ignores its time limit can do
 * nothing more to it.
 */
function grantSandbox(owned: Sandbox): SandboxGrant {
  const taken = new AbortController()
  let exhausted: BoundaryError | null = null
  const call = <T>(work: () => Promise<T>): Promise<T> => {
    if (taken.signal.aborted)
      return Promise.reject(new BoundaryError('agent', 'the sandbox was released: the phase is over'))
    return blame('sandbox', work).catch((error: unknown) => {
      exhausted ??= exhaustedFailure(error)
      throw error
    })
  }
  const sandbox: Sandbox = {
    workdir: owned.workdir,
    exec: (argv, options = {}) => {
      const signal = options.signal ? AbortSignal.any([options.signal, taken.signal]) : taken.signal
      return call(() => owned.exec(argv, { ...options, signal }))
    },
    read: (path) => call(() => owned.read(path)),
    write: (path, data, options) => call(() => owned.write(path, data, options)),
    uploadDir: (source, target) => call(() => owned.uploadDir(source, target)),
    downloadDir: (source, target, options) => call(() => owned.downloadDir(source, target, options)),
    openTerminal: (options) => call(() => owned.openTerminal(options)),
    openDoor: (accept) => call(() => owned.openDoor(accept)),
  }
  return { sandbox, revoke: () => taken.abort(), exhausted: () => exhausted }
}
