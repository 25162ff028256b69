import type { Agent } from './core/agent.ts'
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
  /** Named by their path: the group they are in, then the file. */
  stages: {
    'makers/row-template': () => import('./stages/makers/row-template/index.ts'),
    'mixers/round-robin': () => import('./stages/mixers/round-robin.ts'),
    'mixers/top-k': () => import('./stages/mixers/top-k.ts'),
    'mixers/weighted': () => import('./stages/mixers/weighted.ts'),
    'sources/compose': () => import('./stages/sources/compose/index.ts'),
    'sources/file': () => import('./stages/sources/file.ts'),
    'sources/puzzles': () => import('./stages/sources/puzzles/index.ts'),
  } satisfies Record<string, Load<AnyStage>>,
}
