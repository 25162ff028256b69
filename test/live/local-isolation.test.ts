import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SandboxLease } from '../../src/core/sandbox.ts'
import local from '../../src/sandboxes/local/index.ts'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { plainEnvironment } from '../contracts/environment.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-isolation-'))
const stateDir = join(scratch, 'state')

describe.skipIf(missingPrograms().length > 0)('what a local sandbox sees of the host (needs bubblewrap)', () => {
  let box: SandboxLease
  const provider = local.make({ pids: 256, verify: 'fresh' }, { env: {}, stateDir })
  const sh = async (script: string) => (await box.exec(['sh', '-c', script])).stdout

  beforeAll(async () => {
    mkdirSync(join(scratch, 'environment'))
    box = await provider.lease({
      owner: { job: 'isolation', trial: 'one' },
      environment: plainEnvironment(join(scratch, 'environment')),
    })
  })
  afterAll(async () => {
    await box[Symbol.asyncDispose]()
    rmSync(scratch, { recursive: true, force: true })
  })

  test('the root holds system directories and fresh ones, nothing else', async () => {
    const known = [
      'bin',
      'dev',
      'etc',
      'home',
      'lib',
      'lib32',
      'lib64',
      'libx32',
      'logs',
      'media',
      'mnt',
      'opt',
      'proc',
      'root',
      'run',
      'sbin',
      'srv',
      'tmp',
      'usr',
      'var',
    ]
    const seen = (await sh('ls -A /')).trim().split('\n')
    expect(seen.filter((name) => !known.includes(name))).toEqual([])
  })

  test('home directories, /tmp, /run, /srv and /mnt are empty', async () => {
    expect(
      await sh(
        'ls -A /home /root /tmp /run /srv /mnt /media /var/tmp /var/log | grep -v ":$" | grep -v "^$" | grep -v "^apt$"',
      ),
    ).toBe('')
  })

  test('files of the host outside the system directories are not there', async () => {
    writeFileSync(join(scratch, 'marker'), 'host')
    for (const path of [scratch, resolve('.'), stateDir]) expect(await sh(`ls -d ${path} 2>/dev/null`), path).toBe('')
  })

  test('shadow files hold no password, and no private key is in /etc', async () => {
    expect(
      await sh(
        "cut -d: -f2 /etc/shadow | sort -u; find /etc -name '*_key' -o -name '*.key' | head; grep -rl 'PRIVATE KEY-----' /etc 2>/dev/null",
      ),
    ).toBe('*\n')
  })

  test('processes of the host are not there', async () => {
    expect(Number(await sh('ls /proc | grep -c "^[0-9]"'))).toBeLessThan(8)
    expect(await sh(`tr "\\0" " " < /proc/1/cmdline`)).not.toContain(scratch)
  })

  test('no open file is inherited, in commands and in terminals', async () => {
    const links = await sh('for n in $(ls /proc/self/fd); do [ "$n" -gt 2 ] && readlink "/proc/self/fd/$n"; done')
    expect(links.split('\n').filter((link) => link && !/\/proc\/\d+\/fd$/.test(link))).toEqual([])
    const terminal = await box.openTerminal({ argv: ['sh', '-c', 'ls -l /proc/self/fd > /tmp/terminal-files'] })
    await terminal.exited
    expect(await sh('grep -E "(user|pid|net|mnt):|pipe:|socket:" /tmp/terminal-files')).toBe('')
  })

  test('a server on the host’s loopback cannot be reached without network', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((done) => server.once('listening', done))
    const address = server.address()
    const port = typeof address === 'object' && address ? address.port : 0
    const result = await box.exec(['bash', '-c', `exec 3<>/dev/tcp/127.0.0.1/${port}`])
    server.close()
    expect(result.exitCode).not.toBe(0)
  })

  test('a second file system root can be used instead of the host’s', async () => {
    const rootfs = join(scratch, 'rootfs')
    mkdirSync(join(rootfs, 'only-here'), { recursive: true })
    // A root file system of borrowed directories can run a fixed list of commands: here copies of the host's own
    // programs.
    const { execFileSync } = await import('node:child_process')
    const copy =
      'set -e; cd "$1"; for p in sh ls cat; do b=$(readlink -f "$(command -v $p)"); mkdir -p bin; cp "$b" bin/$p; for l in $(ldd "$b" | grep -o "/[^ ]*"); do mkdir -p ".$(dirname "$l")"; cp -L "$l" ".$l"; done; done; mkdir -p proc dev tmp etc'
    execFileSync('sh', ['-c', copy, 'sh', rootfs])
    const other = local.make({ pids: 256, rootfs, verify: 'fresh' }, { env: {}, stateDir })
    await using there = await other.lease({
      owner: { job: 'isolation', trial: 'two' },
      environment: plainEnvironment(join(scratch, 'environment')),
    })
    expect(
      (
        await there.exec([
          'sh',
          '-c',
          'ls -d /only-here /usr/bin 2>/dev/null; echo changed > /only-here/x; cat /only-here/x',
        ])
      ).stdout,
    ).toBe('/only-here\nchanged\n')
  })
})
