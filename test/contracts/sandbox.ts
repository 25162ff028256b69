import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SandboxLease, SandboxProvider, Terminal } from '../../src/core/sandbox.ts'
import type { Environment } from '../../src/core/task.ts'
import { atBoundary } from '../../src/run/trial/boundary.ts'
import { closedFilesLaw } from './closed-files-law.ts'
import { holdDescriptorLimit } from './descriptor-limit.ts'
import { plainEnvironment } from './environment.ts'
import { openHostServices } from './host-services.ts'
import { storageLaw } from './storage-law.ts'
import { systemLaws } from './system-laws.ts'

export interface SandboxContract {
  readonly makeProvider: () => SandboxProvider
  /** Ways in which an outsider can take a sandbox away from its owner, by name. */
  readonly takeAway?: Readonly<Record<string, (box: SandboxLease) => void | Promise<void>>>
  /** Laws this provider cannot keep, each with the reason. */
  readonly exceptions?: Readonly<Record<string, string>>
  /** Why system files that an agent changed are not restored for tests. */
  readonly cannotRestore?: string
  /** A directory from which deep trees are copied, besides the logs; by default one in memory. */
  readonly room?: string
}

/** Has a name because kinds without such a network are excepted. */
export const ownIdsLaw = 'makes root inside an ordinary user outside'
export const ownNetworkLaw = 'reaches no service of the host itself where it has network'

/** Has a name because it needs a limit on processes. */
export const usedUpLaw = 'is verified as ever after a program used up its processes'

/** Has a name because kinds whose machines run in the test's own process are excepted. */
export const exhaustionLaw = 'says that this machine has run out of file descriptors where that keeps it from starting'

/**
 * Prints the command lines of everything inside, one per line; not every machine has `ps`, and without it nothing would
 * seem to run.
 */
const commandLines = 'for f in /proc/[0-9]*/cmdline; do tr "\\0" " " < $f; echo; done 2>/dev/null'

/** The laws of every sandbox: one suite, run against every provider. */
export function sandboxContract(name: string, contract: SandboxContract): void {
  const exceptions = contract.exceptions ?? {}
  const law = (title: string, body: () => Promise<void>) => {
    const reason = Object.hasOwn(exceptions, title) ? exceptions[title] : undefined
    if (reason) test.skip(`${title} (${reason})`, () => {})
    else test(title, body)
  }

  describe(`sandbox ${name}`, () => {
    let provider: SandboxProvider
    let scratch: string
    let shared: SandboxLease
    const lease = (changes: Partial<Environment> = {}, signal?: AbortSignal) =>
      provider.lease({
        owner: { job: 'contract', trial: name },
        environment: plainEnvironment(join(scratch, 'environment'), changes),
        ...(signal && { signal }),
      })
    const sh = (box: SandboxLease, script: string, options = {}) => box.exec(['sh', '-c', script], options)

    closedFilesLaw(law, lease)

    beforeAll(async () => {
      provider = contract.makeProvider()
      scratch = mkdtempSync(join(tmpdir(), 'ot-contract-'))
      mkdirSync(join(scratch, 'environment'))
      shared = await lease()
    })
    afterAll(async () => {
      await shared[Symbol.asyncDispose]()
      rmSync(scratch, { recursive: true, force: true })
    })

    law('gives back what a command prints and its exit code', async () => {
      const result = await sh(shared, 'echo out; echo err >&2; exit 7')
      expect(result).toEqual({ exitCode: 7, stdout: 'out\n', stderr: 'err\n', timedOut: false, truncated: false })
    })

    law('passes argv as it is, not through a shell', async () => {
      const words = ['$HOME', 'a b', '*', '', "it's", '"', '\\', ';', '-n', 'ü\n']
      const result = await shared.exec(['printf', '%s\\n', ...words])
      expect(result.stdout).toBe(words.map((word) => `${word}\n`).join(''))
    })

    law('returns a result for a command that does not exist', async () => {
      expect((await shared.exec(['no-such-program'])).exitCode).toBe(127)
    })

    law('returns a result for a directory that does not exist', async () => {
      expect((await shared.exec(['true'], { cwd: '/no/such/dir' })).exitCode).not.toBe(0)
    })

    law('reports a killed command as 128 plus the signal', async () => {
      expect((await sh(shared, 'kill -TERM $$')).exitCode).toBe(143)
    })

    law('keeps every byte of a file', async () => {
      const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, i) => (i * 31 + (i >> 8)) & 255))
      await shared.write('/tmp/a dir/bytes.bin', bytes, { mode: 0o640 })
      expect(Buffer.compare(Buffer.from(await shared.read('/tmp/a dir/bytes.bin')), bytes)).toBe(0)
      expect((await sh(shared, 'stat -c %a "/tmp/a dir/bytes.bin"')).stdout).toBe('640\n')
    })

    law('throws for a file that is not there', async () => {
      await expect(shared.read('/tmp/not-there')).rejects.toThrow('/tmp/not-there')
    })

    law('feeds stdin to a command', async () => {
      expect((await shared.exec(['wc', '-c'], { stdin: 'x'.repeat(300_000) })).stdout.trim()).toBe('300000')
      expect((await shared.exec(['true'], { stdin: 'x'.repeat(300_000) })).exitCode).toBe(0)
    })

    law('gives a command an empty stdin when there is none', async () => {
      expect((await shared.exec(['cat'])).exitCode).toBe(0)
    })

    law('runs in the directory and with the variables asked for', async () => {
      const result = await sh(shared, 'pwd; echo "$WORD"', { cwd: '/usr', env: { WORD: "a 'b' $c" } })
      expect(result.stdout).toBe("/usr\na 'b' $c\n")
    })

    law('passes no variable of the host', async () => {
      process.env.OT_CONTRACT_MARK = 'host-only'
      const { stdout } = await shared.exec(['env'])
      Reflect.deleteProperty(process.env, 'OT_CONTRACT_MARK')
      expect(stdout).not.toContain('host-only')
      expect(
        stdout
          .split('\n')
          .map((line) => line.split('=')[0])
          .filter(Boolean)
          .sort(),
      ).toEqual(expect.arrayContaining(['HOME', 'PATH']))
    })

    law('kills the whole process tree of a command that takes too long', async () => {
      const result = await sh(shared, '(setsid sleep 987 & sleep 986) & nohup sleep 985 & sleep 984', {
        timeoutSec: 0.5,
      })
      expect(result.timedOut).toBe(true)
      expect(result.exitCode).toBe(124)
      expect((await sh(shared, `${commandLines} | grep "[s]leep 98" || true`)).stdout).toBe('')
    })

    law('leaves background processes of a finished command running', async () => {
      const { stdout: pid } = await sh(shared, 'nohup sleep 876 >/dev/null 2>&1 & echo $!')
      expect((await sh(shared, `${commandLines} | grep -c "[s]leep 876"`)).stdout).toBe('1\n')
      await sh(shared, `kill ${pid}`)
    })

    law('returns when the command ends even if a child keeps its output open', async () => {
      const { stdout } = await sh(shared, 'sleep 865 & echo started as $!')
      expect(stdout).toMatch(/^started as \d+\n$/)
      await sh(shared, `kill ${stdout.replace(/\D/g, '')}`)
    })

    law('stops a command when its signal is aborted', async () => {
      const controller = new AbortController()
      const running = sh(shared, 'touch /tmp/began; sleep 854', { signal: controller.signal })
      while ((await sh(shared, 'test -e /tmp/began')).exitCode !== 0);
      controller.abort()
      await expect(running).rejects.toMatchObject({ name: 'AbortError' })
      expect((await sh(shared, `${commandLines} | grep "[s]leep 854" || true`)).stdout).toBe('')
    })

    law('stops a command whose signal is aborted while it starts', async () => {
      for (const afterMs of [0, 1, 5, 10, 20, 40]) {
        const controller = new AbortController()
        const running = sh(shared, 'sleep 843', { signal: controller.signal })
        if (afterMs === 0) controller.abort()
        else setTimeout(() => controller.abort(), afterMs)
        await expect(running).rejects.toMatchObject({ name: 'AbortError' })
        expect((await sh(shared, `${commandLines} | grep -E "[s]leep 843 *$" || true`)).stdout).toBe('')
      }
    })

    law('stops a command that runs out of time while it starts', async () => {
      for (const timeoutSec of [0.001, 0.005, 0.02]) {
        expect(await sh(shared, 'sleep 832', { timeoutSec })).toMatchObject({ timedOut: true, exitCode: 124 })
        expect((await sh(shared, `${commandLines} | grep -E "[s]leep 832 *$" || true`)).stdout).toBe('')
      }
    })

    law('caps output and says so', async () => {
      const result = await sh(shared, 'head -c 5000000 /dev/zero | tr "\\0" x', { outputLimitBytes: 1000 })
      expect(result.stdout).toBe('x'.repeat(1000))
      expect(result).toMatchObject({ truncated: true, exitCode: 0 })
    })

    law('copies trees in and out with modes and links', async () => {
      const tree = join(scratch, 'tree')
      mkdirSync(join(tree, 'deep/er'), { recursive: true })
      mkdirSync(join(tree, 'empty'))
      for (let i = 0; i < 500; i++) writeFileSync(join(tree, 'deep', `file ${i} ü`), `${i}`.repeat(i))
      writeFileSync(join(tree, 'run.sh'), '#!/bin/sh\n')
      chmodSync(join(tree, 'run.sh'), 0o755)
      symlinkSync('../run.sh', join(tree, 'deep/link'))
      await shared.uploadDir(tree, '/tmp/in')
      expect((await sh(shared, 'find /tmp/in | wc -l; test -x /tmp/in/run.sh; echo $?')).stdout).toBe('506\n0\n')
      await sh(
        shared,
        'ln -s /etc/passwd /tmp/in/out-abs; ln -s ../../../etc/passwd /tmp/in/deep/out-rel; mkfifo /tmp/in/fifo',
      )
      const back = join(scratch, 'back')
      await shared.downloadDir('/tmp/in', back)
      expect(readFileSync(join(back, 'deep/file 499 ü'), 'utf8')).toBe('499'.repeat(499))
      expect(statSync(join(back, 'run.sh')).mode & 0o777).toBe(0o755)
      expect(readlinkSync(join(back, 'deep/link'))).toBe('../run.sh')
      expect(lstatSync(join(back, 'empty')).isDirectory()).toBe(true)
      for (const name of ['out-abs', 'deep/out-rel', 'fifo']) expect(existsSync(join(back, name)), name).toBe(false)
    })

    law('has log directories that anyone may write to', async () => {
      await using box = await lease()
      const script = 'stat -c %a /logs/agent /logs/verifier /logs/artifacts; ls -A /logs/*'
      const listing = '777\n777\n777\n/logs/agent:\n\n/logs/artifacts:\n\n/logs/verifier:\n'
      expect((await sh(box, script)).stdout).toBe(listing)
      await box.freeze()
      expect((await sh(box, script)).stdout).toBe(listing)
    })

    law('copies logs out without following links', async () => {
      await using box = await lease()
      await sh(
        box,
        'echo fine > /logs/agent/ok; ln -s /etc/passwd /logs/agent/abs; ln -s ok /logs/agent/rel; mkdir /logs/agent/d; echo x > /logs/agent/d/x',
      )
      const out = join(scratch, 'logs-out')
      await box.downloadDir('/logs/agent', out)
      expect(
        execFileSync('find', ['.', '-mindepth', '1'], { cwd: out, encoding: 'utf8' })
          .split('\n')
          .sort()
          .filter(Boolean),
      ).toEqual(['./d', './d/x', './ok', './rel'])
    })

    law('keeps no link that leads out of what is copied, however links are chained', async () => {
      await using box = await lease()
      const plant = [
        'mkdir -p d/e/f && ln -s ../../.. d/e/f/up && ln -s d/e/f/up/../.. out',
        'ln -s d/e/f/up/../../../../../../../etc etc && ln -s ../d/e/f/up/.. d/back && ln -s d/e/f/up/d/e fine',
        'ln -s loop loop && ln -s . dot && ln -s dot/dot/dot/.. dots && ln -s dot/../x dotx && ln -s nothing/../.. gone',
      ].join(' && ')
      for (const source of ['/logs/agent', '/tmp/links']) {
        expect(await sh(box, `mkdir -p ${source} && cd ${source} && ${plant}`)).toMatchObject({ exitCode: 0 })
        const out = join(scratch, `links-of${source.replaceAll('/', '-')}`)
        await box.downloadDir(source, out)
        const script = 'find . -type l -printf "%p " -exec realpath -m {} \\;'
        const links = execFileSync('sh', ['-c', script], { cwd: out, encoding: 'utf8' }).trim().split('\n')
        expect(links.filter((line) => !`${line.split(' ')[1]}/`.startsWith(`${realpathSync(out)}/`))).toEqual([])
        expect(links.map((line) => line.split(' ')[0]).sort()).toEqual(['./d/e/f/up', './dot', './fine'])
      }
    })

    law('copies out to a fresh directory where a link lies in its place', async () => {
      const [other, out] = [join(scratch, 'other'), join(scratch, 'linked-out')]
      mkdirSync(other)
      writeFileSync(join(other, 'file'), 'mine')
      await sh(shared, 'mkdir -p /tmp/linked && echo theirs > /tmp/linked/file && cp -r /tmp/linked /logs/agent/')
      for (const source of ['/logs/agent/linked', '/tmp/linked', '/logs/agent']) {
        symlinkSync(other, out)
        await shared.downloadDir(source, out)
        expect(lstatSync(out).isDirectory(), source).toBe(true)
        expect(readFileSync(join(other, 'file'), 'utf8')).toBe('mine')
        rmSync(out, { recursive: true })
      }
    })

    law('copies files out and reads them without a program of the agent’s', async () => {
      await using box = await lease()
      const plant =
        'for p in tar cat cp find ls dd; do f=$(command -v $p) || continue; rm -f $f; printf "#!/bin/sh\\necho ran >> /forged; echo forged\\n" > $f; chmod 755 $f; done'
      expect(await sh(box, `mkdir -p /tmp/out && echo true > /tmp/out/file && ${plant}`)).toMatchObject({ exitCode: 0 })
      await sh(box, 'echo true > /logs/agent/file; ln -s out/file /tmp/link')
      for (const source of ['/logs/agent', '/tmp/out']) {
        const out = join(scratch, `unforged${source.replaceAll('/', '-')}`)
        await box.downloadDir(source, out)
        expect(readFileSync(join(out, 'file'), 'utf8')).toBe('true\n')
      }
      for (const path of ['/tmp/out/file', '/tmp/link'])
        expect(Buffer.from(await box.read(path)).toString()).toBe('true\n')
      expect((await sh(box, 'test ! -e /forged')).exitCode).toBe(0)
    })

    law('leaves out what a pattern names when it copies a directory', async () => {
      const make =
        'mkdir -p /tmp/part/a/b /tmp/part/node_modules/x && cd /tmp/part && touch a/b/c.pyc a/b/c.py a/d node_modules/x/y top.pyo'
      await sh(shared, make)
      const names = async (...exclude: string[]) => {
        const out = join(scratch, 'part')
        await shared.downloadDir('/tmp/part', out, { exclude })
        const found = execFileSync('find', ['.', '-type', 'f'], { cwd: out, encoding: 'utf8' })
        rmSync(out, { recursive: true })
        return found.split('\n').filter(Boolean).sort()
      }
      expect(await names('*.py[co]', 'node_modules')).toEqual(['./a/b/c.py', './a/d'])
      expect(await names('a/b', './top.*')).toEqual(['./a/d', './node_modules/x/y'])
      expect(await names('b/d', './d')).toHaveLength(5)
    })

    law('runs nothing from a directory at the head of PATH on its own behalf', async () => {
      const names = 'sh bash setsid env mkdir chmod chown rm cat dirname stty tar cp mv printf sleep test'
      const path = '/tmp/own:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
      await using box = await lease({ env: { PATH: path } })
      const plant = `mkdir -p /tmp/own && cd /tmp/own && for p in ${names}; do printf '#!/bin/bash\\necho %s >> /tmp/forged\\nexec /bin/%s "$@"\\n' $p $p > $p && /bin/chmod 755 $p; done`
      expect(await box.exec(['/bin/sh', '-c', plant])).toMatchObject({ exitCode: 0 })
      const source = join(scratch, 'from-path')
      mkdirSync(source, { recursive: true })
      writeFileSync(join(source, 'file'), 'uploaded')
      const use = async () => {
        await box.exec(['/bin/true'], { stdin: 'x'.repeat(100_000) })
        await box.exec(['/bin/true'], { user: 'nobody' })
        await box.exec(['/bin/sleep', '821'], { timeoutSec: 0.1 })
        await box.write('/tmp/new/written', 'data')
        await box.uploadDir(source, '/tmp/new/uploaded')
        await box.downloadDir('/tmp/new', join(scratch, 'path-out'))
        await box.read('/tmp/new/written')
        expect((await box.exec(['/bin/cat', '/tmp/forged'])).stdout).toBe('')
      }
      await use()
      await box.freeze()
      await use()
    })

    law('refuses to copy out more entries than the limit', async () => {
      await using box = await lease()
      await sh(box, 'mkdir /tmp/many && cd /tmp/many && seq 300 | xargs touch && cp -r /tmp/many /logs/agent/many')
      for (const source of ['/tmp/many', '/logs/agent'])
        await expect(box.downloadDir(source, join(scratch, 'many'), { limitEntries: 200 })).rejects.toThrow(source)
    })

    law('leaves out what lies too deep to copy, and removes it with the rest', async () => {
      await using box = await lease()
      // Longer than any path may be, so each part is moved to the bottom of the next.
      const dig =
        'p=$(i=0; while [ $i -lt 1100 ]; do printf d/; i=$((i+1)); done); for i in 1 2; do mkdir -p n/$p; [ ! -e o ] || mv o n/$p; mv n o; done'
      for (const source of new Set(['/logs/agent', contract.room ?? '/dev/shm'])) {
        const dug = await sh(box, `mkdir -p ${source} && cd ${source} && echo kept > kept && ${dig}`)
        expect(dug).toMatchObject({ exitCode: 0 })
        const out = join(scratch, `deep-of${source.replaceAll('/', '-')}`)
        await box.downloadDir(source, out)
        expect(readFileSync(join(out, 'kept'), 'utf8')).toBe('kept\n')
        execFileSync('rm', ['-rf', out])
      }
      await box.freeze()
      const { id } = box
      await box[Symbol.asyncDispose]()
      expect((await provider.reap({ dryRun: true })).filter((left) => left.id === id)).toEqual([])
    })

    law('refuses to copy out more than the limit', async () => {
      await sh(shared, 'mkdir -p /tmp/big && head -c 3000000 /dev/zero > /tmp/big/file')
      await expect(shared.downloadDir('/tmp/big', join(scratch, 'big'), { limitBytes: 1_000_000 })).rejects.toThrow(
        '/tmp/big',
      )
    })

    law('runs commands as the user asked for', async () => {
      expect((await shared.exec(['id', '-un'])).stdout).toBe('root\n')
      const nobody = await sh(shared, 'id -un; grep CapEff /proc/self/status; touch /etc/nobody-was-here 2>&1', {
        user: 'nobody',
      })
      expect(nobody.stdout).toMatch(/^nobody\nCapEff:\t0+\n/)
      expect(nobody.exitCode).not.toBe(0)
      expect((await shared.exec(['id', '-u'], { user: 12345 })).stdout).toBe('12345\n')
    })

    law('drops capabilities that reach beyond the sandbox', async () => {
      const { stdout } = await sh(
        shared,
        'mount -t tmpfs x /mnt 2>&1; dmesg 2>&1 | head -1; unshare -U true 2>&1; echo 1 > /proc/sys/kernel/printk 2>&1; echo done',
      )
      expect((await sh(shared, 'mount -t tmpfs x /mnt')).exitCode).not.toBe(0)
      expect((await sh(shared, 'unshare -Urm true')).exitCode).not.toBe(0)
      expect(stdout).toContain('done')
    })

    law('leaves no setting of the kernel to be written, and hides what tells about the whole machine', async () => {
      await using box = await lease()
      const writable =
        'for d in /proc/sys /proc/fs /proc/irq /proc/bus /proc/sysrq-trigger /proc/acpi /proc/scsi /sys; do [ ! -e $d ] || find $d -type f -writable; done 2>/dev/null'
      // Writes the current value, so that success would change nothing.
      const write =
        'for f in /proc/sys/kernel/printk /proc/sys/vm/swappiness /proc/sys/kernel/hostname; do v=$(cat $f) && { echo "$v" > $f; } 2>/dev/null && echo wrote $f; done; { echo h > /proc/sysrq-trigger; } 2>/dev/null && echo wrote sysrq'
      const secret =
        'for f in keys kcore timer_list sched_debug latency_stats; do [ -z "$(head -c 1 /proc/$f 2>/dev/null | tr "\\0" x)" ] || echo $f; done; ls /proc/scsi /proc/acpi /sys/firmware 2>/dev/null | grep -v :'
      const look = async (who: string) => {
        for (const [script, seen] of Object.entries({ [writable]: '', [write]: '', [secret]: '' }))
          expect((await sh(box, script)).stdout.trim(), who).toBe(seen)
        expect((await sh(box, 'cat /proc/1/cmdline | wc -c; cat /proc/self/status | wc -l')).stdout).toMatch(/^[1-9]/)
      }
      await look('at first')
      await box.freeze()
      await look('after a freeze')
    })

    law(ownIdsLaw, async () => {
      const { stdout } = await sh(shared, 'id -u; cat /proc/self/uid_map')
      const [who, ...ranges] = stdout.trim().split('\n')
      expect(who).toBe('0')
      const outside = ranges.map((line) => line.trim().split(/\s+/).map(Number))
      expect(outside.find(([inside]) => inside === 0)?.[1]).toBeGreaterThan(0)
    })

    law('denies keys and calls that no task needs', async () => {
      // By number, with perl: a refused call gives EPERM or ENOSYS, an allowed one another error or none.
      const numbers = process.arch === 'arm64' ? [219, 280, 241, 265] : [250, 321, 298, 304]
      const script = `command -v perl >/dev/null || { echo refused; exit; }; for n in ${numbers.join(' ')}; do perl -e '$r = syscall($ARGV[0], 0, 0, 0, 0, 0); print $r == -1 && ($! == 1 || $! == 38) ? "" : "call $ARGV[0] gave $r $!\\n"' $n; done; echo refused`
      expect((await sh(shared, script)).stdout).toBe('refused\n')
    })

    law('hands no namespace to a command as an open file', async () => {
      const { stdout } = await sh(shared, 'ls -l /proc/self/fd')
      const open = stdout.split('\n').flatMap((line) => / (\d+) -> (.*)$/.exec(line)?.slice(1, 3).join(' ') ?? [])
      expect(open.filter((file) => /^([3-9]|\d\d+) (user|pid|net|mnt|ipc|uts|cgroup):/.test(file))).toEqual([])
    })

    law('has no network when none is asked for', async () => {
      const { stdout } = await sh(
        shared,
        'cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d " "; cat /proc/net/route | wc -l',
      )
      expect(stdout).toBe('lo\n1\n')
    })

    law(ownNetworkLaw, async () => {
      await using host = await openHostServices()
      await using box = await lease({ network: { mode: 'public' } })
      const perl = [
        'use Socket; my ($at, $port, $dev) = @ARGV; socket(S, PF_INET, SOCK_DGRAM, 17);',
        'setsockopt(S, SOL_SOCKET, 25, $dev) if $dev; send(S, "hello", 0, sockaddr_in($port, inet_aton($at)))',
      ].join(' ')
      const script = [
        'devices=$(tail -n +3 /proc/net/dev | cut -d: -f1)',
        // The first hop of this network, as an address: some networks treat it as the host.
        'hop=$(while read d to via rest; do [ "$to" != 00000000 ] || printf "%d.%d.%d.%d " $(echo $via | sed "s/\\(..\\)\\(..\\)\\(..\\)\\(..\\)/0x\\4 0x\\3 0x\\2 0x\\1/"); done < /proc/net/route)',
        `for a in 127.0.0.1 127.1.2.3 0.0.0.0 ::1 ::ffff:127.0.0.1 $hop; do timeout 2 bash -c "cat < /dev/tcp/$a/${host.tcpPort}" 2>/dev/null & done; wait`,
        `for d in "" $devices; do for a in 127.0.0.1 $hop; do perl -e '${perl}' $a ${host.udpPort} $d; done; done`,
        `grep -c ${host.abstractName} /proc/net/unix`,
      ].join('\n')
      const { stdout } = await box.exec(['bash', '-c', script])
      expect(stdout).toBe('0\n')
      await host.settled()
      expect(host.visits).toEqual([])
      const door = await box.openDoor((socket) => socket.on('error', () => {}).end('our door'))
      const { hostname, port } = new URL(door.url)
      expect((await box.exec(['bash', '-c', `cat < /dev/tcp/${hostname}/${port}`])).stdout).toBe('our door')
      await door.close()
    })

    law('keeps writes to itself', async () => {
      const mark = `ot-contract-${process.pid}`
      await sh(
        shared,
        `for d in /usr /etc /opt /tmp /var /home /root /; do echo x > $d/${mark}; done; rm -f /usr/bin/env /etc/passwd-`,
      )
      for (const dir of ['/usr', '/etc', '/opt', '/tmp', '/var', '/home', '/root', '/'])
        expect(existsSync(join(dir, mark)), dir).toBe(false)
      expect(existsSync('/usr/bin/env')).toBe(true)
      await using other = await lease()
      expect((await sh(other, `ls /usr/${mark} /etc/${mark} /tmp/${mark} 2>/dev/null; ls /usr/bin/env`)).stdout).toBe(
        '/usr/bin/env\n',
      )
    })

    law('limits memory', async () => {
      await using box = await lease({ memoryMb: 64 })
      const result = await sh(box, 'head -c 300000000 /dev/zero | tail -c 300000000 | wc -c', { timeoutSec: 60 })
      expect(result.stdout.trim()).not.toBe('300000000')
    })

    law('limits processes', async () => {
      await using box = await lease()
      const result = await sh(box, 'i=0; while [ $i -lt 3000 ]; do sleep 300 & i=$((i+1)); done; echo all', {
        timeoutSec: 60,
      })
      expect(result.stdout).not.toContain('all')
    })

    law(usedUpLaw, async () => {
      await using box = await lease()
      await using other = await lease()
      const bomb = 'i=0; while [ $i -lt 3000 ]; do setsid sleep 300 > /dev/null 2>&1 & i=$((i+1)); done; echo all'
      expect((await sh(box, `echo kept > /kept; ${bomb}`, { timeoutSec: 60 })).stdout).not.toContain('all')
      expect((await sh(other, 'sleep 0 & wait; echo unharmed')).stdout).toBe('unharmed\n')
      expect(await box.freeze()).toMatchObject({ isolation: 'fresh' })
      expect((await sh(box, 'sleep 0 & wait; cat /kept')).stdout).toBe('kept\n')
    })

    storageLaw(law, lease)

    law('survives a program that kills everything it can', async () => {
      await using box = await lease()
      await sh(box, 'kill -9 -1; kill -9 1 2')
      expect((await sh(box, 'echo still here')).stdout).toBe('still here\n')
    })

    law('goes on over its files when a program inside does its worst to process 1', async () => {
      await using box = await lease()
      await sh(box, 'echo kept > /kept')
      // PTRACE_SEIZE with PTRACE_O_EXITKILL: the traced process is killed when perl exits.
      const trace = `perl -e 'syscall(${process.arch === 'arm64' ? 117 : 101}, 0x4206, 1, 0, 0x100000)'`
      await sh(box, `kill -STOP 1; kill -9 1; command -v perl > /dev/null && ${trace}; sleep 0.2`)
      expect((await sh(box, 'cat /kept')).stdout).toBe('kept\n')
      for (const signal of ['TERM', 'SEGV']) await sh(box, `kill -${signal} 1; kill -${signal} 1; sleep 0.2`)
      expect((await sh(box, 'cat /kept')).stdout).toBe('kept\n')
      expect(await box.alive()).toBe(true)
      expect(await box.freeze()).toMatchObject({ isolation: 'fresh' })
      expect((await sh(box, 'cat /kept')).stdout).toBe('kept\n')
    })

    law('freezes: every process is dead, /tests and the verifier’s logs are fresh, other files stay', async () => {
      await using box = await lease()
      await sh(
        box,
        'mkdir -p /tests; echo forged > /tests/test.sh; echo 1 > /logs/verifier/reward.txt; echo kept > /tmp/kept; echo log > /logs/agent/log',
      )
      await sh(
        box,
        'nohup setsid sh -c "FORGE=1; while :; do echo 1 > /logs/verifier/reward.txt; echo 1 > /tests/test.sh; done" >/dev/null 2>&1 &',
      )
      expect(await box.freeze()).toMatchObject({ isolation: 'fresh' })
      const seen = await sh(
        box,
        `cat /tmp/kept /logs/agent/log; ls -A /logs/verifier; ${commandLines} | grep "[F]ORGE" | wc -l`,
      )
      expect(seen.stdout).toBe('kept\nlog\n0\n')
    })

    law('gives uploaded tests a mount the agent never could write to', async () => {
      await using box = await lease()
      await sh(
        box,
        'mkdir -p /tests; echo forged > /tests/test.sh; echo hidden > /tests/conftest.py; rm -rf /solution; ln -s /usr/share /solution',
      )
      await box.freeze()
      const tests = join(scratch, 'tests')
      mkdirSync(tests, { recursive: true })
      writeFileSync(join(tests, 'test.sh'), 'honest')
      await box.uploadDir(tests, '/tests')
      expect((await sh(box, 'ls -A /tests; cat /tests/test.sh')).stdout).toBe('test.sh\nhonest')
    })

    law('never writes through a link that a program planted where something is uploaded', async () => {
      await using box = await lease()
      const [source, victim] = [join(scratch, 'overwriting'), join(scratch, 'overwritten')]
      mkdirSync(source, { recursive: true })
      writeFileSync(join(source, 'file'), 'uploaded')
      writeFileSync(victim, 'mine')
      for (const target of ['/solution', '/tests', '/tmp/anywhere']) {
        await box.uploadDir(source, target)
        await sh(box, `rm ${target}/file; ln -s ${victim} ${target}/file; ln -s ${scratch} ${target}/dir`)
        await box.freeze()
        await box.uploadDir(source, target)
        expect((await sh(box, `cat ${target}/file`)).stdout).toBe('uploaded')
      }
      expect(readFileSync(victim, 'utf8')).toBe('mine')
    })

    law('cannot be tricked into making directories on the host by a link at a mount point', async () => {
      await using box = await lease()
      const victim = join(scratch, 'victim')
      mkdirSync(victim)
      await sh(
        box,
        `mv /logs /moved; rm -rf /tests; ln -s /oldroot${victim}/tests /tests; ln -s /oldroot${victim}/logs /logs; ln -s /oldroot${victim}/x /solution`,
      )
      await sh(box, 'true')
      await box.freeze()
      await box.uploadDir(join(scratch, 'environment'), '/tests')
      expect((await sh(box, 'cd /tests && cd /logs/verifier')).exitCode).toBe(0)
      expect(execFileSync('ls', ['-A', victim], { encoding: 'utf8' })).toBe('')
    })

    law('brings up /tests and /logs where a program left a file in their place', async () => {
      await using box = await lease()
      await sh(box, 'rm -rf /tests; echo x > /tests; mv /logs /moved; echo x > /logs')
      await box.freeze()
      await box.uploadDir(join(scratch, 'environment'), '/tests')
      expect(await sh(box, 'cd /tests && cd /logs/verifier && pwd -P')).toMatchObject({ stdout: '/logs/verifier\n' })
    })

    law('hides no directory behind a link that a program left in the place of /tests or /logs', async () => {
      for (const system of ['agent', 'image'] as const) {
        await using box = await lease()
        const plant =
          'mkdir -p /srv/work && echo kept > /srv/work/file && rm -rf /tests && ln -s /srv/work /tests && rm -rf /logs/verifier && ln -s /usr/bin /logs/verifier; mv /logs /moved; mkdir /logs; ln -s /etc /logs/verifier; ln -s /srv/work /logs/agent'
        await sh(box, plant)
        await box.freeze({ system })
        await box.uploadDir(join(scratch, 'environment'), '/tests')
        const seen =
          'cat /srv/work/file; test -s /etc/passwd && ls /usr/bin/env; cd /tests && pwd -P; cd /logs/verifier && pwd -P; ls -A'
        expect((await sh(box, seen)).stdout).toBe('kept\n/usr/bin/env\n/tests\n/logs/verifier\n')
        expect((await sh(box, 'cd /logs/agent && pwd -P')).stdout).toBe('/logs/agent\n')
      }
    })

    systemLaws(law, lease, contract.cannotRestore)

    law('opens a terminal that answers, resizes and takes control keys', async () => {
      const terminal = await shared.openTerminal({ cols: 100, rows: 30, env: { PS1: '> ' } })
      const screen = watch(terminal)
      terminal.write('stty size; echo $((6 * 7))\n')
      await screen.until('42')
      expect(screen.text()).toContain('30 100')
      terminal.resize(120, 50)
      terminal.write('stty size\n')
      await screen.until('50 120')
      // The user owns the terminal and may open it by name.
      terminal.write('echo "by $((40 + 2)) name" > /dev/stderr\n')
      await screen.until('by 42 name')
      terminal.write('sleep 743\n')
      while ((await sh(shared, `${commandLines} | grep -c "[s]leep 743"`)).stdout !== '1\n');
      terminal.write('\x03')
      terminal.write('echo "back: $?"\n')
      await screen.until('back: 130')
      terminal.write('exit 3\n')
      expect(await terminal.exited).toBe(3)
    })

    law('closes a terminal and everything started in it', async () => {
      const terminal = await shared.openTerminal()
      const screen = watch(terminal)
      terminal.write('(setsid sleep 732 &); sleep 731\n')
      while ((await sh(shared, `${commandLines} | grep -c "[s]leep 73"`)).stdout !== '2\n');
      await terminal.close()
      await terminal.close()
      expect((await sh(shared, `${commandLines} | grep "[s]leep 73" || true`)).stdout).toBe('')
      expect(screen.text()).toContain('sleep 731')
    })

    law('opens a door to one server of ours, and to nothing else', async () => {
      await using box = await lease()
      const door = await box.openDoor((socket) => {
        socket.on('error', () => {})
        socket.once('data', (data) => socket.end(`you said ${data}`))
      })
      const { hostname, port } = new URL(door.url)
      const talk = `exec 3<>/dev/tcp/${hostname}/${port}; echo hello >&3; cat <&3`
      expect((await box.exec(['bash', '-c', talk])).stdout).toBe('you said hello\n')
      const { stdout } = await sh(box, 'cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d " "')
      expect(stdout).toBe('lo\n')
      await door.close()
      expect((await box.exec(['bash', '-c', talk])).exitCode).not.toBe(0)
    })

    law('returns itself when its lease is aborted', async () => {
      const controller = new AbortController()
      controller.abort()
      await expect(lease({}, controller.signal)).rejects.toMatchObject({ name: 'AbortError' })
      const early = new AbortController()
      const starting = lease({}, early.signal)
      setTimeout(() => early.abort(), 3)
      await starting.then(
        (box) => box[Symbol.asyncDispose](),
        () => {},
      )
      expect(await provider.reap({ dryRun: true })).toEqual([])
    })

    law(exhaustionLaw, async () => {
      using limit = await holdDescriptorLimit()
      await limit.set(10)
      // As a trial would call them.
      const tried = (work: () => Promise<unknown>) =>
        atBoundary('sandbox', new AbortController().signal, work).catch((error: unknown) => error)
      const failures = [await tried(() => lease()), await tried(() => sh(shared, 'exit 7'))]
      await limit.set(limit.before)
      const exhausted = { name: 'BoundaryError', boundary: 'sandbox', code: 'MachineExhaustedError' }
      expect(failures[0]).toMatchObject(exhausted)
      // A command that needs no new connection works.
      expect(failures[1]).toMatchObject(failures[1] instanceof Error ? exhausted : { exitCode: 7 })
      expect((await sh(shared, 'echo works')).stdout).toBe('works\n')
    })

    for (const [how, takeAway] of Object.entries(contract.takeAway ?? {})) {
      law(`takes the blame when it is taken away: ${how}`, async () => {
        const box = await lease()
        const gone = expect.objectContaining({ name: 'BoundaryError', boundary: 'sandbox' })
        try {
          const running = sh(box, 'echo 0 > /logs/verifier/reward.txt; sleep 3; exit 1').catch(
            (error: unknown) => error,
          )
          await expect.poll(() => sh(box, 'cat /logs/verifier/reward.txt').then(({ stdout }) => stdout)).toBe('0\n')
          await takeAway(box)
          // The command may also appear as killed; asking whether the sandbox is alive tells the rest.
          const ended = await running
          if (ended instanceof Error) expect(ended).toEqual(gone)
          else expect(ended).toMatchObject({ exitCode: 137 })
          expect(await box.alive()).toBe(false)
          await expect(sh(box, 'true')).rejects.toEqual(gone)
          await expect(box.freeze()).rejects.toBeInstanceOf(Error)
        } finally {
          await box[Symbol.asyncDispose]()
        }
      })
    }

    law('is gone when it is given back while it freezes', async () => {
      for (const afterMs of [0, 5, 20, 60]) {
        const box = await lease()
        const freezing = box.freeze().catch(() => {})
        await new Promise((resolve) => setTimeout(resolve, afterMs))
        await box[Symbol.asyncDispose]()
        await freezing
        expect(await box.alive()).toBe(false)
        await expect(box.exec(['true'])).rejects.toMatchObject({ name: 'BoundaryError', boundary: 'sandbox' })
      }
    })

    law('can be given back twice, and is gone then', async () => {
      const box = await lease()
      await box[Symbol.asyncDispose]()
      await box[Symbol.asyncDispose]()
      expect(await box.alive()).toBe(false)
      await expect(box.exec(['true'])).rejects.toMatchObject({ name: 'BoundaryError', boundary: 'sandbox' })
    })
  })
}

/** Collects a terminal's output. */
function watch(terminal: Terminal) {
  let text = ''
  const waiters: (() => void)[] = []
  terminal.onData((chunk) => {
    text += chunk
    for (const wake of waiters.splice(0)) wake()
  })
  return {
    text: () => text,
    until: async (wanted: string) => {
      while (!text.includes(wanted)) await new Promise<void>((resolve) => waiters.push(resolve))
    },
  }
}
