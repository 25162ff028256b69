import { statfsSync } from 'node:fs'

/** ext, XFS, Btrfs, tmpfs, overlays, ZFS, bcachefs and F2FS. */
const local = [0xef53, 0x58465342, 0x9123683e, 0x01021994, 0x794c7630, 0x2fc12fc1, 0xca451a4e, 0xf2f52010]
/** Lustre and GPFS: shared by many machines, but stat says what is now. */
const coherent = [...local, 0x0bd00bd0, 0x47504653]

/** Whether a directory is on a disk of this machine, where blocking calls for small files are over before another thread could be asked. */
export function isLocal(dir: string): boolean {
  return local.includes(statfsSync(dir).type)
}

/** Whether the system says of files in a directory what they are like now, and not from memory as over NFS. */
export function isCoherent(dir: string): boolean {
  return coherent.includes(statfsSync(dir).type)
}
