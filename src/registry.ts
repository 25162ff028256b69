import type { Agent } from './core/agent.ts'
import type { Scheduler } from './core/launch.ts'
import type { Engine } from './core/model.ts'
import type { Plugin } from './core/plugin.ts'
import type { SandboxProvider } from './core/sandbox.ts'
import type { AnyStage } from './core/stage.ts'

type Load<T> = () => Promise<{ readonly default: Plugin<T> }>

/** The only file that names plug-ins. A test compares it with the folders. */
export const registry = {
  agents: {
    'claude-code': () => import('./agents/claude-code.ts'),
    codex: () => import('./agents/codex.ts'),
    forger: () => import('./agents/forger.ts'),
    'gemini-cli': () => import('./agents/gemini-cli.ts'),
    'mini-swe-agent': () => import('./agents/mini-swe-agent.ts'),
    nop: () => import('./agents/nop.ts'),
    opencode: () => import('./agents/opencode.ts'),
    openhands: () => import('./agents/openhands.ts'),
    oracle: () => import('./agents/oracle.ts'),
    pi: () => import('./agents/pi.ts'),
    'qwen-coder': () => import('./agents/qwen-coder.ts'),
    'terminus-2': () => import('./agents/terminus-2/index.ts'),
  } satisfies Record<string, Load<Agent>>,
  engines: {
    anthropic: () => import('./engines/anthropic.ts'),
    gemini: () => import('./engines/gemini.ts'),
    none: () => import('./engines/none.ts'),
    openai: () => import('./engines/openai.ts'),
    'openai-compatible': () => import('./engines/openai-compatible.ts'),
    scripted: () => import('./engines/scripted/index.ts'),
  } satisfies Record<string, Load<Engine>>,
  sandboxes: {
    apptainer: () => import('./sandboxes/apptainer/index.ts'),
    daytona: () => import('./sandboxes/daytona/index.ts'),
    docker: () => import('./sandboxes/docker/index.ts'),
    e2b: () => import('./sandboxes/e2b/index.ts'),
    local: () => import('./sandboxes/local/index.ts'),
    modal: () => import('./sandboxes/modal/index.ts'),
    podman: () => import('./sandboxes/podman.ts'),
  } satisfies Record<string, Load<SandboxProvider>>,
  schedulers: {
    local: () => import('./schedulers/local/index.ts'),
    slurm: () => import('./schedulers/slurm/index.ts'),
  } satisfies Record<string, Load<Scheduler>>,
  /** Named by their path: the group they are in, then the file. */
  stages: {
    'exporters/ladder': () => import('./stages/exporters/ladder.ts'),
    'exporters/rl': () => import('./stages/exporters/rl.ts'),
    'exporters/sharegpt': () => import('./stages/exporters/sharegpt.ts'),
    'filters/rollouts/decontaminated': () => import('./stages/filters/rollouts/decontaminated.ts'),
    'filters/rollouts/exact-duplicates': () => import('./stages/filters/rollouts/exact-duplicates.ts'),
    'filters/rollouts/max-tokens': () => import('./stages/filters/rollouts/max-tokens.ts'),
    'filters/rollouts/min-reward': () => import('./stages/filters/rollouts/min-reward.ts'),
    'filters/rollouts/min-turns': () => import('./stages/filters/rollouts/min-turns.ts'),
    'filters/rollouts/near-duplicates': () => import('./stages/filters/rollouts/near-duplicates.ts'),
    'filters/rollouts/no-empty-turns': () => import('./stages/filters/rollouts/no-empty-turns.ts'),
    'filters/rollouts/no-infrastructure-failures': () =>
      import('./stages/filters/rollouts/no-infrastructure-failures.ts'),
    'filters/rollouts/no-loops': () => import('./stages/filters/rollouts/no-loops.ts'),
    'filters/rollouts/no-subagents': () => import('./stages/filters/rollouts/no-subagents.ts'),
    'filters/rollouts/no-timeouts': () => import('./stages/filters/rollouts/no-timeouts.ts'),
    'filters/rollouts/no-truncation': () => import('./stages/filters/rollouts/no-truncation.ts'),
    'filters/rollouts/reward-hacking': () => import('./stages/filters/rollouts/reward-hacking.ts'),
    'filters/rollouts/secrets': () => import('./stages/filters/rollouts/secrets.ts'),
    'filters/tasks/classifier': () => import('./stages/filters/tasks/classifier.ts'),
    'filters/tasks/decontaminated': () => import('./stages/filters/tasks/decontaminated.ts'),
    'filters/tasks/exact-duplicates': () => import('./stages/filters/tasks/exact-duplicates.ts'),
    'filters/tasks/near-duplicates': () => import('./stages/filters/tasks/near-duplicates.ts'),
    'filters/tasks/random': () => import('./stages/filters/tasks/random.ts'),
    'filters/tasks/response-length': () => import('./stages/filters/tasks/response-length.ts'),
    'filters/tasks/signal-range': () => import('./stages/filters/tasks/signal-range.ts'),
    'filters/tasks/similar-to': () => import('./stages/filters/tasks/similar-to.ts'),
    'filters/tasks/stratified': () => import('./stages/filters/tasks/stratified.ts'),
    'filters/tasks/top-by-signal': () => import('./stages/filters/tasks/top-by-signal.ts'),
    'makers/expected-output': () => import('./stages/makers/expected-output/index.ts'),
    'makers/row-template': () => import('./stages/makers/row-template/index.ts'),
    'maps/chat': () => import('./stages/maps/chat.ts'),
    'maps/classify': () => import('./stages/maps/classify.ts'),
    'maps/explode': () => import('./stages/maps/explode.ts'),
    'maps/score': () => import('./stages/maps/score.ts'),
    'maps/structured': () => import('./stages/maps/structured.ts'),
    'mixers/round-robin': () => import('./stages/mixers/round-robin.ts'),
    'mixers/top-k': () => import('./stages/mixers/top-k.ts'),
    'mixers/weighted': () => import('./stages/mixers/weighted.ts'),
    'sources/compose': () => import('./stages/sources/compose/index.ts'),
    'sources/documents': () => import('./stages/sources/documents/index.ts'),
    'sources/file': () => import('./stages/sources/file.ts'),
    'sources/pipeline': () => import('./stages/sources/pipeline.ts'),
    'sources/posts': () => import('./stages/sources/posts/index.ts'),
    'sources/puzzles': () => import('./stages/sources/puzzles/index.ts'),
    'sources/task-folder': () => import('./stages/sources/task-folder.ts'),
    'sources/task-parquet': () => import('./stages/sources/task-parquet.ts'),
  } satisfies Record<string, Load<AnyStage>>,
}
