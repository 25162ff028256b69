import type { Duplex } from 'node:stream'
import type { Door } from '../../core/sandbox.ts'
import { openDoor as openDoorInto } from '../namespaces/door.ts'
import { enterUser } from './holder.ts'
import type { Privileges } from './privileges.ts'

export interface DoorFrame {
  readonly privileges: Privileges
  readonly outerPid: number
  /** A process in the sandbox's network. */
  readonly netPid: number
}

/** Opens a port on the sandbox's own loopback whose connections arrive in this process. */
export function openDoor({ privileges, outerPid, netPid }: DoorFrame, accept: (socket: Duplex) => void): Promise<Door> {
  return openDoorInto({ enter: [...enterUser(privileges, outerPid), `--net=/proc/${netPid}/ns/net`] }, accept)
}
