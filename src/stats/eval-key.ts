import type { TrialRecord } from '../core/trial.ts'

/** Names the group a trial counts in: `agent__model__dataset`, or `agent__dataset`. A model's provider is left out, as Harbor does. */
export function evalKeyOf({ agent, task }: Pick<TrialRecord, 'agent' | 'task'>): string {
  const model = agent.model === null ? '' : agent.model.slice(agent.model.indexOf('/') + 1)
  return [agent.name, model, task.source || 'adhoc'].filter((word) => word !== '').join('__')
}
