import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
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
import { plainEnvironment } from './environment.ts'

export interface SandboxContract {
  readonly makeProvider: () => SandboxProvider
  /** Laws this provider cannot keep, each with the reason. */
  readonly exceptions?: Readonly<Record<string, string>>
}

/** Prints what runs inside, a line each; `ps` is not on every machine, and without it nothing would seem to run. */
const commandLines = 'for f in /proc/[0-9]*/cmdline; do tr "\\0" " " < $f; echo; done 2>/dev/null'

/** The laws every sandbox keeps. One suite, run against every provider. */
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
      for (const afterMs of [0, 1, 5, 20]) {
        const controller = new AbortController()
        const running = sh(shared, 'sleep 843', { signal: controller.signal })
        if (afterMs === 0) controller.abort()
        else setTimeout(() => controller.abort(), afterMs)
        await expect(running).rejects.toMatchObject({ name: 'AbortError' })
        expect((await sh(shared, `${commandLines} | grep -E "^[s]leep 843 *$" || true`)).stdout).toBe('')
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

    law('has no network when none is asked for', async () => {
      const { stdout } = await sh(
        shared,
        'cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d " "; cat /proc/net/route | wc -l',
      )
      expect(stdout).toBe('lo\n1\n')
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

    law('survives a program that kills everything it can', async () => {
      await using box = await lease()
      await sh(box, 'kill -9 -1; kill -9 1 2')
      expect((await sh(box, 'echo still here')).stdout).toBe('still here\n')
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
      expect(await box.freeze()).toBe('fresh')
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
      await sh(box, 'true')
      expect(execFileSync('ls', ['-A', victim], { encoding: 'utf8' })).toBe('')
    })

    law('opens a terminal that answers, resizes and takes control keys', async () => {
      const terminal = await shared.openTerminal({ cols: 100, rows: 30, env: { PS1: '> ' } })
      const screen = watch(terminal)
      terminal.write('stty size; echo $((6 * 7))\n')
      await screen.until('42')
      expect(screen.text()).toContain('30 100')
      terminal.resize(120, 50)
      terminal.write('stty size\n')
      await screen.until('50 120')
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

/** Collects what a terminal shows. */
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
