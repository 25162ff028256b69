import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SandboxLease } from '../../src/core/sandbox.ts'

type Law = (title: string, body: () => Promise<void>) => void

/** Has a name because the stand-ins for clouds, whose machines are made before these files, are excepted. */
export const closedFilesTitle = 'shows no file of the host that not every user may read'

/** Only root can put files where a sandbox might show the host's; a kind that shows no host files passes anyway. */
const places = process.getuid?.() === 0 ? ['/opt', '/usr/local/share', '/var/tmp', '/root'] : []

/** Call this before the first sandbox is made. */
export function closedFilesLaw(law: Law, lease: () => Promise<SandboxLease>): void {
  if (places.length === 0) {
    test.skip(`${closedFilesTitle} (only root can make such files where sandboxes see them)`, () => {})
    return
  }
  const dirs: string[] = []
  beforeAll(() => {
    for (const place of places) {
      const dir = mkdtempSync(join(place, 'ot-contract-'))
      dirs.push(dir)
      chmodSync(dir, 0o755)
      for (const [name, mode] of Object.entries({ open: 0o644, closed: 0o600, 'for a group': 0o640 })) {
        writeFileSync(join(dir, name), `${name} of the host`)
        chmodSync(join(dir, name), mode)
      }
      mkdirSync(join(dir, 'private'), { mode: 0o700 })
      writeFileSync(join(dir, 'private/file'), 'private of the host')
    }
  })
  afterAll(() => {
    for (const dir of dirs) rmSync(dir, { recursive: true, force: true })
  })

  law(closedFilesTitle, async () => {
    await using box = await lease()
    const look = async () => {
      for (const dir of dirs) {
        const script = `cd ${dir} 2>/dev/null || exit 0; cat open closed 'for a group' private/file 2>/dev/null; stat -c %a .`
        const { stdout } = await box.exec(['sh', '-c', script])
        expect(['', 'open of the host755\n']).toContain(stdout)
      }
    }
    await look()
    await box.exec(['sh', '-c', dirs.map((dir) => `[ ! -d ${dir} ] || echo mine > ${dir}/closed`).join('; ')])
    await box.freeze({ system: 'image' })
    for (const dir of dirs) {
      const { stdout } = await box.exec(['sh', '-c', `cat ${dir}/closed ${dir}/private/file 2>/dev/null`])
      expect(['', 'mine\n']).toContain(stdout)
    }
  })
}
