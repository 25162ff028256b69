import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plainEnvironment } from '../../../test/contracts/environment.ts'
import { needs } from '../../../test/needs.ts'
import type { SandboxLease } from '../../core/sandbox.ts'
import { loadLease } from '../namespaces/lease-file.ts'
import { collect } from '../namespaces/run-to-end.ts'
import { seccompFileIn } from './entry.ts'
import local from './index.ts'
import { mergedIn } from './machine-files.ts'
import { findPrivileges } from './privileges.ts'
import { startProcess } from './starter.ts'
import { makeHome } from './workshop.ts'

const stateDir = mkdtempSync(join(tmpdir(), 'ot-inside-'))
afterAll(() => rmSync(stateDir, { recursive: true, force: true }))
const isRoot = process.getuid?.() === 0
const ownIds = isRoot ? (await findPrivileges(await makeHome(stateDir))).ownIds : null
const provider = local.make({ pids: 256, verify: 'fresh' }, { env: {}, stateDir })
const lease = (trial: string) =>
  provider.lease({ owner: { job: 'inside', trial }, environment: plainEnvironment(stateDir) })

const needed = needs('root', 'bwrap', 'unshare', 'perl')

describe.skipIf(ownIds === null)('a command that the starter lets in', needed, () => {
  let box: SandboxLease
  beforeAll(async () => {
    box = await lease('one')
  })
  afterAll(() => box[Symbol.asyncDispose]())
  const sh = async (script: string) => (await box.exec(['sh', '-c', script])).stdout

  test('is a child of no other program, leads its session, and has few rights', async () => {
    expect(await sh('cut -d" " -f4,6 /proc/$$/stat; echo $$')).toMatch(/^0 (\d+)\n\1\n$/)
    const status = await sh('cat /proc/self/status')
    for (const set of ['Inh', 'Prm', 'Eff', 'Bnd', 'Amb'])
      expect(status).toMatch(new RegExp(`^Cap${set}:\\s+00000000a00405fb$`, 'm'))
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m)
    // The machine that runs these tests may have a filter, too.
    const filters = (text: string) => Number(/^Seccomp_filters:\s+(\d+)$/m.exec(text)?.[1])
    expect(status).toMatch(/^Seccomp:\s+2$/m)
    expect(filters(status)).toBe(filters(readFileSync('/proc/self/status', 'utf8')) + 1)
    expect(status).toMatch(/^Sig(Blk|Ign):\s+0+\n(.*\n)?Sig(Blk|Ign):\s+0+$/m)
  })

  test('has three open files, and its own variables only', async () => {
    expect(await sh('ls /proc/$$/fd')).toBe('0\n1\n2\n')
    const { stdout } = await box.exec(['env'], { cwd: '/tmp', env: { A: 'b = c', EMPTY: '', PWD: '/wrong' } })
    expect(stdout.split('\n').filter(Boolean).sort()).toEqual([
      'A=b = c',
      'EMPTY=',
      'HOME=/root',
      expect.stringMatching(/^PATH=/),
      'PWD=/tmp',
    ])
  })

  test('sees the mounts of its sandbox alone, none of which gives rights to who runs a program', async () => {
    const mounts = (await sh('cut -d" " -f5,6 /proc/self/mountinfo')).trim().split('\n')
    expect(mounts.filter((line) => !line.includes('nosuid'))).toEqual([])
    const places = new Set(mounts.map((line) => line.replace(/ .*/, '')))
    for (const place of ['/', '/usr', '/proc', '/proc/sys', '/proc/keys', '/dev', '/dev/shm', '/dev/pts', '/logs'])
      expect(places).toContain(place)
    expect([...places].filter((place) => !/^\/($|usr|opt|bin|sbin|lib|proc|dev|logs)/.test(place))).toEqual([])
    expect(await sh('echo x > /proc/sys/kernel/hostname; cat /proc/keys; echo seen')).toBe('seen\n')
    const devices = mounts.filter((line) => !line.includes('nodev')).map((line) => line.replace(/ .*/, ''))
    expect(devices.sort()).toEqual(
      ['full', 'null', 'pts', 'random', 'tty', 'urandom', 'zero'].map((name) => `/dev/${name}`),
    )
  })

  test('finds the devices of a container', async () => {
    expect(await sh('cd /dev; ls -d *; readlink fd stdin ptmx; echo > null; head -c 2 zero | wc -c')).toBe(
      'core\nfd\nfull\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurandom\nzero\n/proc/self/fd\n/proc/self/fd/0\npts/ptmx\n2\n',
    )
  })

  test('is on a terminal that it finds in /dev, and is let in as others are', async () => {
    const argv = [
      'sh',
      '-c',
      'tty; grep CapEff /proc/self/status; cut -d" " -f4 /proc/$$/stat; echo $0 > /dev/console; no-such-program',
    ]
    const terminal = await box.openTerminal({ argv })
    let shown = ''
    terminal.onData((text) => {
      shown += text
    })
    expect(await terminal.exited).toBe(127)
    expect(shown).toMatch(/^\/dev\/console\r\nCapEff:\s+00000000a00405fb\r\n0\r\nsh\r\n.*not found\r\n$/)
    const missing = await box.openTerminal({ argv: ['no-such-program'] })
    missing.onData((text) => {
      shown = text
    })
    expect([await missing.exited, shown]).toEqual([127, 'cannot run no-such-program: No such file or directory\r\n'])
  })

  test('ends as a shell would end it', async () => {
    // Whole results, so that a failure shows the command's output.
    const plain = { stdout: '', stderr: '', timedOut: false, truncated: false }
    const missing = 'cannot run no-such-program: No such file or directory\n'
    expect(await box.exec(['no-such-program'])).toEqual({ ...plain, exitCode: 127, stderr: missing })
    const denied = 'cannot run /etc: Permission denied\n'
    expect(await box.exec(['/etc'])).toEqual({ ...plain, exitCode: 126, stderr: denied })
    const nowhere = 'cannot enter /nowhere: No such file or directory\n'
    expect(await box.exec(['true'], { cwd: '/nowhere' })).toEqual({ ...plain, exitCode: 126, stderr: nowhere })
    expect(await box.exec(['sh', '-c', 'kill -SEGV $$'])).toEqual({ ...plain, exitCode: 139 })
    expect(await box.exec(['sh', '-c', 'exit 7'])).toEqual({ ...plain, exitCode: 7 })
  })

  test('gets in with others at once, when the places of its mounts are not there yet', async () => {
    for (const trial of ['two', 'three', 'four']) {
      await using fresh = await lease(trial)
      const ended = await Promise.all(Array.from({ length: 6 }, () => fresh.exec(['ls', '/logs'])))
      for (const { stderr, exitCode } of ended) expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 })
    }
  })

  test('shows nothing of itself to programs inside before it is the command', async () => {
    const spy = `my $met = 0;
      while (!-e '/tmp/stop') {
        for my $dir (grep { $_ ne '/proc/1' } glob '/proc/[0-9]*') {
          next unless name($dir) =~ /^(sandbox|starter)\\0*$/;
          if (!$met++) { open(my $file, '>', '/tmp/met') }
          my @seen = (grep { defined } map { readlink "$dir/$_" } qw(root cwd exe));
          for (qw(environ maps mem)) { push @seen, $_ if open(my $file, '<', "$dir/$_") }
          push @seen, 'fd' if opendir(my $list, "$dir/fd");
          push @seen, 'signal' if kill 0, $dir =~ /(\\d+)/ and name($dir) =~ /^starter/;
          # It may have become the command meanwhile.
          print "@seen\\n" if @seen && name($dir) =~ /^(sandbox|starter)/;
          if (open(my $file, '<', "$dir/net/dev")) { for (<$file>) { print "network $_" if /:/ && !/^\\s*lo:/ } }
          if (open(my $file, '<', "$dir/mountinfo")) { for (<$file>) { print "mount $_" if (split / /)[4] =~ m{^/(sys|run)(/|$)} } }
        }
      }
      sub name { open(my $file, '<', "$_[0]/cmdline") or return ''; local $/; return <$file> // '' }`
    const spying = box.exec(['perl', '-e', spy])
    for (let i = 0; i < 40; i++) await box.exec(['true'])
    while ((await sh('ls /tmp')).includes('met') === false) await box.exec(['true'])
    await sh('touch /tmp/stop')
    expect(await spying).toMatchObject({ exitCode: 0, stdout: '', stderr: '' })
  })

  test('leaves no process when it is stopped on its way in', async () => {
    const late = Array.from({ length: 24 }, (_, i) => box.exec(['sleep', '1000'], { timeoutSec: i / 1000 }))
    for (const { timedOut } of await Promise.all(late)) expect(timedOut).toBe(true)
    expect(await sh('grep -l sleep /proc/[0-9]*/comm | wc -l')).toBe('0\n')
  })

  test('is refused where a link lies in the place of a mount', async () => {
    await sh('ln -s /etc /tmp/link')
    if (ownIds === null) throw new Error('no ids')
    const home = join(stateDir, 'local')
    const of = `/proc/${loadLease(join(home, 'sandboxes', box.id))?.holder?.pid}/ns`
    const inside = { pidns: `${of}/pid`, seccompFile: seccompFileIn(home), capabilities: 0, cwd: '/' }
    const child = await startProcess({
      ids: ownIds,
      namespaces: ['mnt', 'ipc', 'uts', 'net'].map((name) => `${of}/${name}`),
      inside: { ...inside, merged: mergedIn(home), plan: ['rw', '/tmp/link', stateDir] },
      argv: ['true'],
      streams: [1, 2, 3],
      limitBytes: 1000,
    })
    const [complaint, report] = [collect(child.stderr, 1000), collect(child.stdio[3] ?? null, 1000)]
    expect(await once(child, 'close')).toEqual([126, null])
    expect(complaint.text()).toMatch(/^move_mount \/tmp\/link: /)
    expect(report.text()).toBe('failed')
  })
})
