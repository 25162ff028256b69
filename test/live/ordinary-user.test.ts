import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'

const run = promisify(execFile)
const isRoot = process.getuid?.() === 0

/** The same laws again, in a process that is not root: the checkout is bound to a place that user can reach. */
test.skipIf(!isRoot || missingPrograms().length > 0)(
  'the sandbox contract holds for an ordinary user (needs root to become one, and bubblewrap)',
  async () => {
    const dir = mkdtempSync(join(tmpdir(), 'ot-user-'))
    const checkout = join(dir, 'checkout')
    const home = join(dir, 'home')
    mkdirSync(checkout)
    mkdirSync(home)
    for (const path of [dir, home]) chmodSync(path, 0o777)
    const vitest =
      'node node_modules/vitest/vitest.mjs run test/contracts/local.test.ts --configLoader runner --reporter json --outputFile "$HOME/report.json"'
    const asUser = `cd ${checkout} && exec setpriv --reuid 65534 --regid 65534 --clear-groups env -i PATH="$PATH" HOME=${home} TMPDIR=${home} XDG_CACHE_HOME=${home}/cache sh -c '${vitest}'`
    const script = `mount --bind ${resolve('.')} ${checkout} && ${asUser}`
    try {
      const outcome = await run('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', script], {
        timeout: 300_000,
      }).catch((error: unknown) => error)
      const { stdout } = await run('cat', [join(home, 'report.json')]).catch(() => ({
        stdout: JSON.stringify(outcome),
      }))
      const report = JSON.parse(stdout)
      expect(
        report.testResults?.flatMap((file: { assertionResults: { status: string; title: string }[] }) =>
          file.assertionResults.filter((one) => one.status === 'failed').map((one) => one.title),
        ),
      ).toEqual([])
      expect(report.numPassedTests).toBeGreaterThan(25)
    } finally {
      rmSync(dir, { recursive: true, force: true })
    }
  },
  300_000,
)
