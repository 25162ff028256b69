import type { Machines } from '../fakes/machines.ts'

/** What the machines behind a cloud's stand-in cannot do on this host. */
export function standInExceptions({ enforces, manyUsers }: Machines): Record<string, string> {
  return {
    ...(!enforces.memory && { 'limits memory': 'no control groups for this user' }),
    ...(!enforces.pids && { 'limits processes': 'no control groups for this user' }),
    ...(!manyUsers && { 'runs commands as the user asked for': 'no subordinate ids for this user' }),
  }
}
