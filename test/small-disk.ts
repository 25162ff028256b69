import { execFileSync } from 'node:child_process'

/** Mounts a disk of this size, for example `1m`, on a directory. */
export function mountSmallDisk(dir: string, size: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', dir], { stdio: 'ignore' })
}

/** Resizes such a disk. */
export function resizeSmallDisk(dir: string, size: string): void {
  execFileSync('mount', ['-o', `remount,size=${size}`, dir])
}

/** Unmounts it, although this process may still hold open files on it, such as its mark. */
export function unmountSmallDisk(dir: string): void {
  execFileSync('umount', ['--lazy', dir])
}

/** Whether the current user may do that. */
export function canMount(dir: string): boolean {
  try {
    mountSmallDisk(dir, '1m')
    unmountSmallDisk(dir)
    return true
  } catch {
    return false
  }
}
