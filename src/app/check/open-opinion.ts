import { join } from 'node:path'
import type { ModelClient } from '../../core/model.ts'
import type { ModelSettings, OpinionSettings } from '../../core/stage.ts'
import { makeAgent, pluginContext } from '../../plugins/make.ts'
import type { Opinion } from '../../run/check/check-request.ts'
import { makeModelReviewer } from '../../stages/shared/judging/model-reviewer.ts'

/** Connects to the models for a second opinion; an agent that does not exist is a UserError. */
export async function openOpinion(
  { solver, reviewer, agent = { name: 'terminus-2' }, tries = 1 }: OpinionSettings,
  reach: (settings: ModelSettings) => Promise<ModelClient>,
): Promise<Opinion> {
  await makeAgent(agent.name, agent.options)
  const client = await reach(solver)
  const reviewing = reviewer ? await reach(reviewer) : client
  return { tries, agent, client, review: makeModelReviewer(reviewing, join(pluginContext().stateDir, 'judge')) }
}
