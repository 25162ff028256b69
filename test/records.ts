import fc from 'fast-check'
import type { AgentExit, Usage } from '../src/core/agent.ts'
import { boundaries } from '../src/core/errors.ts'
import { noTask, type TrialConfig } from '../src/core/job.ts'
import type { Failure, Span, StepRecord, TrialEnd, TrialRecord } from '../src/core/trial.ts'
import { defaultJobConfig } from '../src/formats/harbor-job/job-config.ts'

const started = '2026-11-15T00:00:55.187153Z'
const finished = '2026-11-15T00:02:00.000001Z'

/** A trial's config with every default. */
export function someTrialConfig(over: Partial<TrialConfig> = {}): TrialConfig {
  const { agents, environment, verifier, timeoutMultipliers } = defaultJobConfig()
  const [agent] = agents
  return {
    task: { ...noTask, path: '/tasks/hello', source: 'tasks' },
    trialName: 'hello__AbC23de',
    trialsDir: '/jobs/one',
    timeoutMultipliers,
    agent: agent!,
    environment: { ...environment, type: 'local' },
    verifier,
    artifacts: [],
    jobId: '6856a1de-0000-4000-8000-000000000001',
    ...over,
  }
}

/** A solved trial, with a test's changes. Its config gets the trial's name. */
export function someRecord(over: Partial<TrialRecord> = {}): TrialRecord {
  const name = over.name ?? 'hello__AbC23de'
  return {
    schema: 'trial/1',
    id: '7ab9c0de-0000-4000-8000-000000000001',
    name,
    task: {
      name: 'org/hello',
      path: '/tasks/hello',
      source: 'tasks',
      digest: 'ab'.repeat(32),
      checksum: 'cd'.repeat(32),
    },
    agent: { name: 'oracle', version: '1.0.0', model: null },
    attempt: 0,
    config: someTrialConfig({ trialName: name }),
    end: { kind: 'scored', rewards: { reward: 1 }, exit: { kind: 'finished' } },
    isolation: 'fresh',
    bothRewardFiles: false,
    usage: null,
    metadata: null,
    sandbox: { provider: 'local', limits: { cpu: true, memory: true, pids: true, storage: false }, notes: [] },
    spans: { environmentSetup: someSpan(0), agentSetup: null, agentExecution: someSpan(1), verifier: someSpan(2) },
    steps: null,
    retries: 0,
    startedAt: started,
    finishedAt: finished,
    ...over,
  }
}

export function someFailure(over: Partial<Failure> = {}): Failure {
  return {
    boundary: 'sandbox',
    code: 'SandboxError',
    message: 'it broke',
    stack: 'SandboxError: it broke\n    at somewhere',
    retryable: true,
    occurredAt: finished,
    ...over,
  }
}

export function failed(over: Partial<Failure> = {}): TrialEnd {
  return { kind: 'failed', failure: someFailure(over) }
}

function someSpan(second: number): Span {
  return { startedAt: `2026-11-15T00:01:0${second}.000010Z`, finishedAt: `2026-11-15T00:01:0${second + 1}.500000Z` }
}

const time = fc
  .integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2040, 0, 1) })
  .chain((ms) =>
    fc.nat(999).map((micros) => `${new Date(ms).toISOString().slice(0, -1)}${String(micros).padStart(3, '0')}Z`),
  )
const span: fc.Arbitrary<Span> = fc.record({ startedAt: time, finishedAt: fc.option(time) })
const text = fc.string({ unit: 'grapheme', maxLength: 20 })
const rewards = fc.dictionary(
  text.filter((name) => name !== '__proto__'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (Object.is(n, -0) ? 0 : n)),
  { maxKeys: 3 },
)
const tokens = fc.option(fc.nat())
const usage: fc.Arbitrary<Usage> = fc.record({
  inputTokens: fc.nat(),
  cacheTokens: tokens,
  outputTokens: tokens,
  costUsd: fc.option(fc.double({ min: 0, max: 99, noNaN: true })),
})
const metadata = fc.option(
  fc.dictionary(fc.constantFrom('n_episodes', 'note', 'list'), fc.oneof(fc.nat(), text, fc.array(fc.nat())), {
    minKeys: 1,
  }),
)

export const anyExit: fc.Arbitrary<AgentExit> = fc.oneof(
  fc.constant<AgentExit>({ kind: 'finished' }),
  fc.constantFrom('time', 'turns', 'context', 'cost').map((limit): AgentExit => ({ kind: 'limit', limit })),
  fc.integer({ min: 1, max: 255 }).map((exitCode): AgentExit => ({ kind: 'exited', exitCode })),
)

const failure: fc.Arbitrary<Failure> = fc.constantFrom(...boundaries).chain((boundary) =>
  fc.record({
    boundary: fc.constant(boundary),
    code: fc.constant(`${boundary[0]!.toUpperCase()}${boundary.slice(1)}Error`),
    message: text,
    stack: text,
    retryable: fc.constant(true),
    occurredAt: time,
  }),
)

const step: fc.Arbitrary<StepRecord> = fc.record({
  name: text,
  rewards,
  exit: anyExit,
  failure: fc.constant(null),
  usage: fc.option(usage),
  metadata,
  agentExecution: span,
  verifier: span,
})

/** Any single-step or multi-step trial. A multi-step trial ends the way its last step's agent did. */
export const anyRecord: fc.Arbitrary<TrialRecord> = fc
  .record({
    id: fc.uuid({ version: 4 }),
    taskName: text,
    model: fc.option(fc.constantFrom('gpt-x', 'openai/gpt-x', 'hosted_vllm/a/b')),
    exit: anyExit,
    rewards,
    ending: fc.constantFrom('scored', 'unverified', 'failed', 'cancelled'),
    failure,
    usage: fc.option(usage),
    metadata,
    spans: fc.record({
      environmentSetup: fc.option(span),
      agentSetup: fc.option(span),
      agentExecution: span,
      verifier: fc.option(span),
    }),
    steps: fc.option(fc.array(step, { minLength: 1, maxLength: 3 })),
    startedAt: time,
    finishedAt: time,
  })
  .map(({ taskName, model, ending, ...raw }) => {
    const exit = raw.steps?.at(-1)?.exit ?? raw.exit
    const end: TrialEnd =
      ending === 'failed'
        ? { kind: 'failed', failure: raw.failure }
        : ending === 'cancelled'
          ? { kind: 'cancelled' }
          : { kind: 'scored', rewards: ending === 'scored' ? raw.rewards : null, exit }
    const base = someRecord()
    return someRecord({
      id: raw.id,
      task: { ...base.task, name: taskName },
      agent: { ...base.agent, model },
      config: { ...base.config, verifier: { ...base.config.verifier, disable: ending === 'unverified' } },
      end,
      usage: raw.usage,
      metadata: raw.metadata,
      spans: raw.spans,
      steps: raw.steps,
      startedAt: raw.startedAt,
      finishedAt: raw.finishedAt,
    })
  })
