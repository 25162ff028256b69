import type { Machines } from '../fakes/machines.ts'
import { whyNoUplink } from '../needs.ts'
import { closedFilesTitle } from './closed-files-law.ts'
import { exhaustionLaw, ownIdsLaw, ownNetworkLaw, usedUpLaw } from './sandbox.ts'
import { storageLawTitle } from './storage-law.ts'

const own = 'files outside the logs are carried by programs of the sandbox itself'

/**
 * Kinds with neither an engine that reads files nor our own mounts for programs: files are copied in and out by a shell
 * inside.
 */
export const programsInside = {
  'copies files out and reads them without a program of the agent’s': own,
  'runs nothing from a directory at the head of PATH on its own behalf': own,
}

/** Kinds whose disk cannot limit a single directory, as their facts say. */
export const noQuota = { [storageLawTitle]: 'no limits for directories on this disk, and the facts say so' }

/** Kinds whose user IDs inside are up to the engine's settings. */
export const engineIds = { [ownIdsLaw]: 'the engine decides which ids its containers have' }

/** A stand-in prepares its machines when it starts. */
export const standInMachines = { [closedFilesTitle]: 'the stand-in looks for such files before they are there' }

/** Without a limit on processes, using them up would take down the whole machine. */
export function processExceptions(isLimited: boolean): Record<string, string> {
  const why = 'no control groups for this user'
  return isLimited ? {} : { 'limits processes': why, [usedUpLaw]: why }
}

/** What the machines behind a cloud's stand-in cannot do on this host. */
export function standInExceptions({ enforces, manyUsers }: Machines): Record<string, string> {
  const noUplink = whyNoUplink()
  return {
    ...programsInside,
    ...standInMachines,
    [storageLawTitle]: 'the machines of the stand-in have no such limit',
    [ownIdsLaw]: 'a cloud’s sandboxes are machines of their own',
    [exhaustionLaw]: 'the cloud’s stand-in runs in the test’s own process',
    ...(noUplink !== null && { [ownNetworkLaw]: noUplink }),
    ...(!enforces.memory && { 'limits memory': 'no control groups for this user' }),
    ...processExceptions(enforces.pids),
    ...(!manyUsers && { 'runs commands as the user asked for': 'no subordinate ids for this user' }),
  }
}
