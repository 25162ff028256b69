/** The public face of the package: what examples, recipes and strangers' plug-ins may import. */

export type * from './core/agent.ts'
export { type Boundary, BoundaryError, boundaries, UserError } from './core/errors.ts'
export type * from './core/job.ts'
export { definePlugin, type Plugin, type PluginContext } from './core/plugin.ts'
export type { RewardPrecedence, Rewards } from './core/rewards.ts'
export type * from './core/sandbox.ts'
export type * from './core/task.ts'
export type * from './core/trial.ts'
export { type Phase, phases } from './core/trial.ts'
export { runTrial, type TrialRequest } from './run/trial.ts'
