import type { Machines } from '../fakes/machines.ts'
import { whyNoUplink } from '../needs.ts'
import { exhaustionLaw, ownNetworkLaw } from './sandbox.ts'

const own = 'files outside the logs are carried by programs of the sandbox itself'

/** Kinds without an engine that reads files, or mounts of ours for programs: what they carry in and out passes a shell inside. */
export const programsInside = {
  'copies files out and reads them without a program of the agent’s': own,
  'runs nothing from a directory at the head of PATH on its own behalf': own,
}

/** What the machines behind a cloud's stand-in cannot do on this host. */
export function standInExceptions({ enforces, manyUsers }: Machines): Record<string, string> {
  const noUplink = whyNoUplink()
  return {
    ...programsInside,
    [exhaustionLaw]: 'the cloud’s stand-in runs in the test’s own process',
    ...(noUplink !== null && { [ownNetworkLaw]: noUplink }),
    ...(!enforces.memory && { 'limits memory': 'no control groups for this user' }),
    ...(!enforces.pids && { 'limits processes': 'no control groups for this user' }),
    ...(!manyUsers && { 'runs commands as the user asked for': 'no subordinate ids for this user' }),
  }
}
