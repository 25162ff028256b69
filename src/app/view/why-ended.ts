import type { AgentExit } from '../../core/agent.ts'
import { hadNoValidReply } from '../../core/model-replies.ts'
import { mainReward } from '../../core/rewards.ts'
import { type Phase, phases, type TrialRecord } from '../../core/trial.ts'
import type { ViewTest } from '../../core/view.ts'

/** Why a trial ended as it did, in one sentence. Parts of it may be hostile. */
export function whyEnded(record: TrialRecord, tests: readonly ViewTest[] = []): string {
  const { end } = record
  if (end.kind === 'cancelled') return `Cancelled by a user or a signal ${during(record)}; it has no result.`
  if (end.kind === 'failed') {
    const { boundary, code, message } = end.failure
    const again = record.retries === 0 ? '' : ` after ${record.retries} ${record.retries === 1 ? 'retry' : 'retries'}`
    const said = message.trim().split('\n')[0]?.slice(0, 300).replace(/\.$/, '') ?? ''
    return `Infrastructure failure blamed on the ${boundary} ${during(record)}${again}: ${code}: ${said}. It does not count as a reward of 0.`
  }
  const stopped = agentStopped(end.exit, seconds(record, 'agentExecution'))
  if (end.rewards === null) return `Not verified: ${stopped}, and verification was disabled.`
  const reward = mainReward(end.rewards)
  const verdict = reward >= 1 ? 'Solved' : reward > 0 ? 'Partly solved' : 'Not solved'
  const failed = tests.filter(({ status }) => status === 'failed')
  const which =
    failed.length === 0 ? '' : ` (${failed.length} of ${tests.length} tests failed, first ${quoted(failed[0]?.name)})`
  const replies = hadNoValidReply(record) ? ' The model never gave a valid reply.' : ''
  return `${verdict}: ${stopped}, and the verifier gave ${Number(reward.toFixed(4))}${which}.${replies}`
}

function agentStopped(exit: AgentExit, took: number | null): string {
  const after = took === null ? '' : ` after ${durationText(took)}`
  if (exit.kind === 'finished') return `the agent finished${after}`
  if (exit.kind === 'exited') return `the agent's program exited with code ${exit.exitCode}${after}`
  const limit = {
    time: 'ran out of time',
    turns: 'used up its turns',
    context: "outgrew the model's context",
    cost: 'used up its budget',
    storage: 'used up its disk space',
  }
  return `the agent ${limit[exit.limit]}${after}`
}

const phaseWords: Readonly<Record<Phase, string>> = {
  environmentSetup: 'while the sandbox started',
  agentSetup: 'while the agent was set up',
  agentExecution: 'while the agent worked',
  verifier: 'during verification',
}

/** The phase in progress at the end: the last one that started. */
function during({ spans, steps }: TrialRecord): string {
  const begun = phases.filter((phase) => spans[phase] !== null)
  const last = begun.at(-1)
  if (last === undefined) return 'before the sandbox started'
  const step = last === 'agentSetup' && (steps ?? []).length > 0 ? 'agentExecution' : last
  return spans[step]?.finishedAt && step === 'verifier' ? 'after verification' : phaseWords[step]
}

function seconds({ spans }: TrialRecord, phase: Phase): number | null {
  const span = spans[phase]
  return span?.finishedAt ? (Date.parse(span.finishedAt) - Date.parse(span.startedAt)) / 1000 : null
}

function durationText(sec: number): string {
  if (sec < 10) return `${sec.toFixed(1)} s`
  if (sec < 120) return `${Math.round(sec)} s`
  return sec < 7200 ? `${Math.round(sec / 60)} min` : `${(sec / 3600).toFixed(1)} h`
}

function quoted(text: string | undefined): string {
  return JSON.stringify((text ?? '').slice(0, 100))
}
