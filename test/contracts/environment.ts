import type { Environment } from '../../src/core/task.ts'

/** A plain environment: no image, no network. */
export function plainEnvironment(dir: string, changes: Partial<Environment> = {}): Environment {
  return {
    dir,
    buildTimeoutSec: 60,
    os: 'linux',
    gpus: 0,
    network: { mode: 'no-network' },
    mcpServers: [],
    env: {},
    ...changes,
  }
}
