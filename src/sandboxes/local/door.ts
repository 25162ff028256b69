import type { Duplex } from 'node:stream'
import type { Door } from '../../core/sandbox.ts'
import { openDoor as openDoorInto } from '../namespaces/door.ts'
import { enterUser } from './holder.ts'
import type { Privileges } from './privileges.ts'

export interface DoorFrame {
  readonly privileges: Privileges
  readonly outerPid: number
  readonly innerPid: number
  /** `none`: the sandbox has a loopback of its own; `host`: it shares ours. */
  readonly network: 'host' | 'none'
}

/** Opens a port on the sandbox's own loopback whose connections arrive in this process. */
export function openDoor(
  { privileges, outerPid, innerPid, network }: DoorFrame,
  accept: (socket: Duplex) => void,
): Promise<Door> {
  const enter = network === 'host' ? null : [...enterUser(privileges, outerPid), `--net=/proc/${innerPid}/ns/net`]
  return openDoorInto({ enter }, accept)
}
