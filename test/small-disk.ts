import { execFileSync } from 'node:child_process'

/** Puts a disk of this size, for example `1m`, at a directory. */
export function mountSmallDisk(dir: string, size: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', dir], { stdio: 'ignore' })
}

/** Gives such a disk another size. */
export function resizeSmallDisk(dir: string, size: string): void {
  execFileSync('mount', ['-o', `remount,size=${size}`, dir])
}

/** Takes it away; this process may still hold files of it open, its mark for example. */
export function unmountSmallDisk(dir: string): void {
  execFileSync('umount', ['--lazy', dir])
}

/** Whether whoever runs the tests may do that. */
export function canMount(dir: string): boolean {
  try {
    mountSmallDisk(dir, '1m')
    unmountSmallDisk(dir)
    return true
  } catch {
    return false
  }
}
