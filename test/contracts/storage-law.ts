import { expect } from 'vitest'
import type { SandboxLease } from '../../src/core/sandbox.ts'
import type { Environment } from '../../src/core/task.ts'

/** Has a name because kinds that cannot keep it are excepted. */
export const storageLawTitle = 'enforces storage_mb'

type Law = (title: string, body: () => Promise<void>) => void

/** A program that uses more disk than allowed does not finish, and after a freeze there is room again. */
export function storageLaw(law: Law, lease: (changes: Partial<Environment>) => Promise<SandboxLease>): void {
  law(storageLawTitle, async () => {
    await using box = await lease({ storageMb: 32 })
    const sh = (script: string) => box.exec(['sh', '-c', script], { timeoutSec: 120 })
    expect(box.facts.limits.storage).toBe(true)
    // A hole takes no disk space.
    expect(await sh('truncate -s 10G /srv/hole && rm /srv/hole && echo kept > /srv/kept')).toMatchObject({
      exitCode: 0,
    })
    await box.storage?.check()
    const fill =
      'i=0; while [ $i -lt 40 ]; do head -c 4194304 /dev/zero > /srv/$i || exit 1; i=$((i+1)); done; sleep 600'
    const filled = await sh(fill)
    expect(filled.timedOut).toBe(false)
    expect(filled.exitCode).not.toBe(0)
    if (box.storage) {
      expect(box.storage.full.aborted).toBe(true)
      expect(await sh('echo more > /srv/more')).toMatchObject({ exitCode: 137, stdout: '' })
    }
    expect(await box.alive()).toBe(true)
    await box.freeze()
    expect(await sh('cat /srv/kept; echo tests > /srv/tests && ls /srv/more')).toMatchObject({ stdout: 'kept\n' })
    expect(box.storage?.full.aborted ?? false).toBe(false)
  })
}
