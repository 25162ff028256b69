import type { SandboxFacts } from '../../core/sandbox.ts'
import type { Healthcheck, Network } from '../../core/task.ts'
import type { ComposeProject } from './compose/project.ts'
import type { ContainerSpec } from './container.ts'
import type { ContainerEngine } from './container-engine.ts'
import type { PublicNetwork } from './public-network.ts'

/** What is the same for all containers of a sandbox. */
export type SandboxSpec = Omit<ContainerSpec, 'name' | 'network' | 'channel'>

export interface LeaseOptions {
  readonly engine: ContainerEngine
  readonly id: string
  readonly workdir: string
  readonly spec: SandboxSpec
  readonly network: Network
  readonly publicNetwork: PublicNetwork
  readonly facts: SandboxFacts
  readonly healthcheck: Healthcheck | null
  readonly verify: 'fresh' | 'shared'
  /** Starts the container among those of a compose file; null for a container on its own. */
  readonly project: ComposeProject | null
  /** Whether the engine's list of changes includes every file that its images of containers have. */
  readonly listsEveryChange: boolean
  /** Whether the engine keeps changed files in a directory that fully describes them. */
  readonly hasPlainLayers: boolean
  /** Whether the engine reports at once that a container ended by itself. */
  readonly noticesEnds: boolean
  /** Directories that an image is known to have; shared by all its sandboxes. */
  readonly knownDirs: Set<string>
  /** Called with single lines of progress, for the trial's log. */
  readonly log: ((line: string) => void) | undefined
}
