import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { BoundaryError } from '../../core/errors.ts'
import { shellQuote } from '../../lib/shell.ts'
import { kernelFiles } from '../namespaces/kernel-files.ts'
import { cleanEnv, enterUser, fstabLine, type Holder } from './holder.ts'
import type { Privileges } from './privileges.ts'

/**
 * Mounts /proc of a sandbox's processes in its root, once for all its commands, with nothing of the kernel's own settings
 * to be written: root inside is the same user as root outside, and owns them. `again`: in place of an earlier one.
 */
export async function mountProc(
  holder: Holder,
  { dir, privileges, again }: { readonly dir: string; readonly privileges: Privileges; readonly again: boolean },
): Promise<void> {
  const at = join(dir, 'merged', 'proc')
  const table = join(dir, 'proc-mounts')
  if (!again) writeFileSync(table, procMounts(at))
  const enter = [
    ...enterUser(privileges, holder.outerPid),
    `--mount=/proc/${holder.outerPid}/ns/mnt`,
    `--pid=/proc/${holder.innerPid}/ns/pid`,
  ]
  const mount = ['mount', '-n', '-a', '-T', table]
  const script = `umount -n -l ${shellQuote(at)}; exec ${mount.map(shellQuote).join(' ')}`
  const argv = again ? ['sh', '-c', script] : mount
  await promisify(execFile)('nsenter', [...enter, ...argv], { env: cleanEnv, cwd: '/' }).catch((error: unknown) => {
    throw new BoundaryError('sandbox', `cannot mount /proc of a sandbox: ${String(error).slice(0, 500)}`)
  })
}

function procMounts(at: string): string {
  const lines = kernelFiles().map(({ path, isDirectory, isHidden }) => {
    const target = join(at, basename(path))
    if (!isHidden) return fstabLine(target, target, 'none', 'bind,ro')
    return isDirectory
      ? fstabLine('tmpfs', target, 'tmpfs', 'ro,nosuid,nodev,noexec,size=4k')
      : fstabLine('/dev/null', target, 'none', 'bind,ro')
  })
  return [fstabLine('proc', at, 'proc', 'nosuid,nodev,noexec'), ...lines].join('')
}
