import { execFile, spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'

const run = promisify(execFile)
const isRoot = process.getuid?.() === 0
/** Whether that user can run the Apptainer of this machine or of this checkout. */
const hasApptainer = ['apptainer', resolve('node_modules/.cache/apptainer/usr/bin/apptainer')].some(
  (program) => isRoot && spawnSync('setpriv', ['--reuid', '65534', program, '--version']).status === 0,
)

/** On machines with GPUs, drivers are often mounted in a directory next to this one. */
const driverDir = '/usr/local/src'

/** The same laws again, in a process without root: the checkout is bind-mounted where that user can reach it. */
describe('the sandbox contract holds for an ordinary user', () => {
  test.skipIf(!isRoot || missingPrograms().length > 0)('in local (needs root to become one, and bubblewrap)', () =>
    holds('test/contracts/local.test.ts'),
  )

  test.skipIf(!isRoot || missingPrograms().length > 0 || !existsSync(driverDir))(
    `in local, where something is mounted in /usr (needs root to become one, bubblewrap and ${driverDir})`,
    () =>
      holds('test/contracts/local.test.ts', {
        mounted: driverDir,
        laws: 'system|changed program|shared|/dev/shm|many layers',
        least: 7,
      }),
  )

  test.skipIf(!isRoot || !hasApptainer)('in apptainer (needs root to become one, and Apptainer)', () =>
    holds('test/contracts/apptainer.test.ts', { subordinateIds: true, config: 'vitest.long.config.ts' }),
  )
})

interface Outcome {
  status: string
  title: string
  failureMessages: string[]
}

interface How {
  readonly subordinateIds?: boolean
  readonly config?: string
  /** A directory of the machine on which something else is mounted. */
  readonly mounted?: string
  /** Only the laws whose titles match. */
  readonly laws?: string
  /** The minimum number of laws that must hold. */
  readonly least?: number
}

async function holds(file: string, how: How = {}): Promise<void> {
  const { subordinateIds = false, config = 'vitest.config.ts', mounted, laws, least = 26 } = how
  const dir = mkdtempSync(join(tmpdir(), 'ot-user-'))
  const checkout = join(dir, 'checkout')
  const home = join(dir, 'home')
  mkdirSync(checkout)
  mkdirSync(home)
  for (const path of [dir, home]) chmodSync(path, 0o777)
  const vitest = `node node_modules/vitest/vitest.mjs run ${file} --config ${config} --configLoader runner ${laws ? `-t "${laws}" ` : ''}--reporter json --outputFile "$HOME/report.json"`
  const asUser = `cd ${checkout} && exec setpriv --reuid 65534 --regid 65534 --clear-groups env -i PATH="$PATH" HOME=${home} TMPDIR=${home} XDG_CACHE_HOME=${home}/cache sh -c '${vitest}'`
  const files: Record<string, string> = {
    passwd: `root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:${home}:/bin/sh\n`,
    subuid: 'nobody:1000000:65536\n',
    subgid: 'nobody:1000000:65536\n',
  }
  const mounts = Object.entries(subordinateIds ? files : {}).map(([name, text]) => {
    writeFileSync(join(dir, name), text)
    return `mount --bind ${dir}/${name} /etc/${name} && `
  })
  if (mounted) mounts.push(`mount -t tmpfs tmpfs ${mounted} && `)
  const script = `${mounts.join('')}mount --bind ${resolve('.')} ${checkout} && ${asUser}`
  try {
    const outcome = await run('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', script], {
      timeout: 900_000,
    }).catch((error: unknown) => error)
    const { stdout } = await run('cat', [join(home, 'report.json')]).catch(() => ({ stdout: JSON.stringify(outcome) }))
    const report = JSON.parse(stdout)
    expect(
      report.testResults?.flatMap((file: { message: string; assertionResults: Outcome[] }) => [
        ...(file.message ? [file.message] : []),
        ...file.assertionResults
          .filter((one) => one.status === 'failed')
          .map(({ title, failureMessages }) => `${title}: ${failureMessages.join('\n').slice(0, 1000)}`),
      ]),
    ).toEqual([])
    expect(report.numPassedTests).toBeGreaterThanOrEqual(least)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}
