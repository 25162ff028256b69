import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../../../test/needs.ts'
import type { Terminal } from '../../core/sandbox.ts'
import { openPty, openPtyOf } from '../namespaces/pty.ts'
import { collect } from '../namespaces/run-to-end.ts'
import { openTerminalBy } from './entry.ts'
import { removeByStarter, startProcess } from './starter.ts'
import { NoTerminalError, type StartRequest, starterProgram } from './starter-request.ts'

const first = 0x7000_0000
let usernsPid = 0

describe('the starter', needs('root', 'unshare'), () => {
  beforeAll(async () => {
    const child = spawn('unshare', ['--user', 'sh', '-c', 'echo ready; exec sleep 1000'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    await once(child.stdout, 'data')
    usernsPid = child.pid ?? 0
    for (const map of ['uid_map', 'gid_map']) writeFileSync(`/proc/${usernsPid}/${map}`, `0 ${first} 65536`)
  })
  afterAll(() => void process.kill(usernsPid))

  test('starts a program as root of the user namespace, with the files and variables that were asked for and no others', async () => {
    const script = 'id -u; id -G; cat <&8; echo "$A"; echo complaint >&2; echo /proc/self/fd/*; exit 7'
    const ended = await run(['sh', '-c', script], { files: [[8, '/proc/sys/kernel/ostype']], env: { A: 'b = c' } })
    // The fourth is the directory that the shell itself reads.
    expect(ended.out.replaceAll('/proc/self/fd/', '')).toBe('0\n0\nLinux\nb = c\n0 1 2 3 4 8\n')
    expect(ended).toMatchObject({ err: 'complaint\n', code: 7, signal: null })
  })

  test('opens the streams of a program to root inside', async () => {
    expect(await run(['sh', '-c', 'echo out > /dev/stdout; echo err > /dev/stderr'])).toMatchObject({
      out: 'out\n',
      err: 'err\n',
      code: 0,
    })
  })

  test('passes the beginning of an output on, and reads the rest', async () => {
    const { out, code } = await run(['sh', '-c', 'yes | head -c 1000000'], { limitBytes: 1000 })
    expect(out).toHaveLength(1001)
    expect(code).toBe(0)
  })

  test('reports programs that are killed, and programs that do not exist', async () => {
    expect(await run(['sh', '-c', 'kill -9 $$'])).toMatchObject({ code: null, signal: 'SIGKILL' })
    expect(await run(['no-such-program'])).toMatchObject({ code: 127, err: expect.stringContaining('no-such-program') })
    await expect(run(['echo', 'a\0b'])).rejects.toThrow('NUL')
  })

  test('starts a program on a terminal of ours, whose far end is its own', async () => {
    const script = 'stty size; id > /dev/tty; echo /proc/self/fd/*; read line; stty size; exit 5'
    const terminal = await openTerminal(['sh', '-c', script])
    const shown = watch(terminal)
    // The fourth is the directory that the shell itself reads.
    await shown.until('/fd/3')
    expect(shown.text().replaceAll('/proc/self/fd/', '')).toMatch(/^30 100\r\nuid=0.*\r\n0 1 2 3\r\n$/)
    expect(spawnSync('sh', ['-c', 'readlink /proc/self/fd/*'], { encoding: 'utf8' }).stdout).not.toContain('ptmx')
    // Input after it finds the new size.
    terminal.resize(120, 50)
    terminal.write('go on\r')
    expect(await terminal.exited).toBe(5)
    expect(shown.text()).toContain('go on\r\n50 120\r\n')
  })

  test('sets a terminal up as one that is opened from this process', async () => {
    const [program = '', ...args] = ['sh', '-c', 'echo set: $(stty --save; stty size); read line']
    const env = { PATH: process.env.PATH ?? '' }
    const terminals = [
      await openTerminal([program, ...args]),
      await openPty({ program, args, env }, { cols: 100, rows: 30 }, async () => {}),
    ]
    const lines = terminals.map(async (terminal) => {
      const shown = watch(terminal)
      await shown.until('\n')
      await terminal.close()
      return shown.text()
    })
    const [ours, usual] = await Promise.all(lines)
    expect(ours).toMatch(/^set: [0-9a-f:]{40,} 30 100\r\n$/)
    expect(ours).toBe(usual)
  })

  test('kills a program on a terminal', async () => {
    const terminal = await openTerminal(['sleep', '1000'])
    await terminal.close()
    expect(await terminal.exited).toBe(137)
  })

  test('resizes no other terminal that has the number of one that its program left', async ({ skip }) => {
    const numbers: number[] = []
    const left = await openTerminal(['sh', '-c', 'trap "" HUP; exec sleep 1000 <&- >&- 2>&-'], numbers)
    await expect.poll(() => existsSync(`/proc/self/fd/${numbers[0]}`)).toBe(false)
    const others = []
    // Lower numbers may be free as well, and are taken first.
    while (others.length < 20 && (others.length === 0 || numbers.at(-1) !== numbers[0]))
      others.push(await openTerminal(['sh', '-c', 'read line; echo size: $(stty size)'], numbers))
    if (numbers.at(-1) !== numbers[0]) skip('another file took the number of the first terminal')
    const other = others.pop()
    if (!other) throw new Error('no terminal')
    const shown = watch(other)
    left.resize(33, 11)
    // The starter handles one request after another.
    await (await openTerminal(['true'])).exited
    other.write('go on\r')
    await other.exited
    expect(shown.text()).toContain('size: 30 100')
    for (const terminal of [left, ...others]) await terminal.close()
  })

  test('says when a terminal cannot be taken over, so that it is opened from this process', async () => {
    const fd = openSync('/dev/null', 'r+')
    const terminal = { fd, cols: 100, rows: 30 }
    const request = { ids: { usernsPid, first }, argv: ['true'], streams: [], limitBytes: 0 }
    await expect(startProcess({ ...request, terminal })).rejects.toThrow(NoTerminalError)
    const tried: boolean[] = []
    const opened = await openTerminalBy(true, async (byStarter) => {
      tried.push(byStarter)
      return openPtyOf(
        (near) => startProcess({ ...request, terminal: { ...terminal, fd: byStarter ? fd : near } }),
        async () => {},
      )
    })
    expect([tried, await opened.exited]).toEqual([[true, false], 0])
    closeSync(fd)
  })

  test('refuses a malformed request, and goes on', async () => {
    const started = spawn(starterProgram, [], { argv0: 'starter', stdio: 'pipe', env: {} })
    const said = collect(started.stdout, 10_000)
    const send = (...words: (string | number)[]) => {
      const body = Buffer.from(words.map((word) => `${word}\0`).join(''))
      started.stdin.write(Buffer.concat([Buffer.from([0, 0, 0, body.length]), body]))
    }
    const lists = (plan: number, ...streams: number[]) => [
      plan,
      streams.length,
      ...streams,
      ...[0, 0, 0, 0, 0, 0, 0, 0],
    ]
    send(1, 'start')
    send(2, 'start', '', 0, '/', 0, ...lists(1))
    send(3, 'start', '', 0, '/', 0, ...lists(4_294_967_296))
    send(4, 'start', '', 0, '/', 0, ...lists(0, 4))
    send(5, 'start', '', 0, '/', 0, ...lists(0, 1, 1))
    send(6, 'start', '', -1, '/', 0, ...lists(0))
    for (const verb of ['renew', 'resize', 'drop', 'kill', 'remove', 'nothing']) send(7, verb)
    send('not a number', 'start')
    started.stdin.write(Buffer.from([0, 0, 0, 1, 65]))
    send(8, 'remove', `/${'x'.repeat(200)}`)
    await expect.poll(() => said.text()).toContain('\x08x0')
    const refused = said.text().match(/[^\0]f(request|pipe): Invalid argument/g)
    expect(refused).toEqual([1, 2, 3, 4, 5, 6].map((id) => expect.stringMatching(new RegExp(`^\\x0${id}f`))))
    started.stdin.end()
    expect(await once(started, 'close')).toEqual([0, null])
  })

  test('gives a program words that are in no file', async () => {
    const { out } = await run(['sh', '-c', 'tr "\\0" , <&9'], { text: [9, ['a b', '', 'c\nd']] })
    expect(out).toBe('a b,,c\nd,')
    // Words that do not fill a whole number of a pipe's pages.
    const long = Array.from({ length: 20 }, () => 'w'.repeat(2500))
    expect((await run(['sh', '-c', 'wc -c <&9'], { text: [9, long] })).out.trim()).toBe('50020')
  })

  test('refuses a command that is far too long, and goes on', async () => {
    await expect(run(['true', 'w'.repeat(9_000_000)], {})).rejects.toThrow('over 8000000 letters')
    expect((await run(['echo', 'on'], {})).out).toBe('on\n')
  })

  test('removes a tree and nothing that its links lead to; says when something is left', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'ot-removed-'))
    mkdirSync(join(dir, 'gone/below'), { recursive: true })
    mkdirSync(join(dir, 'kept'))
    writeFileSync(join(dir, 'kept/file'), '')
    writeFileSync(join(dir, 'gone/below/file'), '')
    symlinkSync(join(dir, 'kept'), join(dir, 'gone/link'))
    expect(await removeByStarter(join(dir, 'gone'))).toBe(true)
    expect([existsSync(join(dir, 'gone')), existsSync(join(dir, 'kept/file'))]).toEqual([false, true])
    expect(await removeByStarter(join(dir, 'gone'))).toBe(true)
    mkdirSync(join(dir, 'deep', ...Array.from({ length: 60 }, () => 'd')), { recursive: true })
    expect(await removeByStarter(join(dir, 'deep'))).toBe(false)
    rmSync(dir, { recursive: true })
  })

  test('removes many trees at once, and goes on after one that removed them was killed', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'ot-starter-'))
    const trees = Array.from({ length: 20 }, (_, i) => join(dir, String(i)))
    for (const tree of trees) mkdirSync(join(tree, 'a/b'), { recursive: true })
    expect(await Promise.all(trees.map(removeByStarter))).toEqual(trees.map(() => true))
    const starters = spawnSync('pgrep', ['-P', String(process.pid), 'starter'], { encoding: 'utf8' }).stdout.trim()
    const removers = spawnSync('pgrep', ['-P', starters.split('\n').join(',')], { encoding: 'utf8' }).stdout.trim()
    expect(removers).not.toBe('')
    for (const pid of removers.split('\n')) process.kill(Number(pid), 'SIGKILL')
    for (const tree of trees) mkdirSync(join(tree, 'a/b'), { recursive: true })
    // The removal during which it ended is reported as failed; the next ones succeed.
    await Promise.all(trees.map(removeByStarter))
    expect(await Promise.all(trees.map(removeByStarter))).toEqual(trees.map(() => true))
    expect(readdirSync(dir)).toEqual([])
    rmSync(dir, { recursive: true })
  })

  test('does not wait for output from children of an ended program', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'ot-starter-'))
    const pipe = join(dir, 'pipe')
    spawnSync('mkfifo', [pipe])
    const go = openSync(pipe, 'r+')
    const argv = ['sh', '-c', 'read line <&8; sleep 1000 & echo $!']
    const files: StartRequest['files'] = [[8, pipe]]
    const started = await startProcess({ ids: { usernsPid, first }, argv, files, streams: [1, 2, 3], limitBytes: 1000 })
    const out = collect(started.stdout, 1000)
    const exited = once(started, 'exit')
    // Its output and its end reach the starter at the same time.
    const [state, starter] = [() => statOf(started.pid)[0], Number(statOf(started.pid)[1])]
    process.kill(starter, 'SIGSTOP')
    try {
      writeSync(go, 'go on\n')
      await expect.poll(state).toBe('Z')
    } finally {
      process.kill(starter, 'SIGCONT')
    }
    expect((await exited)[0]).toBe(0)
    expect(await run(['echo', 'others'])).toMatchObject({ out: 'others\n', code: 0 })
    process.kill(Number(out.text()))
    closeSync(go)
    rmSync(dir, { recursive: true })
  })

  test('runs many at once, each with its own output', async () => {
    const numbers = Array.from({ length: 40 }, (_, i) => String(i))
    const ended = await Promise.all(numbers.map((number) => run(['sh', '-c', `echo ${number}; exit ${number}`])))
    expect(ended.map(({ out }) => out.trim())).toEqual(numbers)
    expect(ended.map(({ code }) => String(code))).toEqual(numbers)
  })
})

function openTerminal(argv: readonly string[], numbers: number[] = []): Promise<Terminal> {
  const request = { ids: { usernsPid, first }, argv, streams: [], limitBytes: 0 }
  return openPtyOf(
    (fd) => {
      numbers.push(fd)
      return startProcess({ ...request, terminal: { fd, cols: 100, rows: 30 } })
    },
    async () => {},
  )
}

/** Collects what a terminal shows. */
function watch(terminal: Terminal) {
  let text = ''
  let wake = () => {}
  terminal.onData((chunk) => {
    text += chunk
    wake()
  })
  return {
    text: () => text,
    until: async (wanted: string) => {
      while (!text.includes(wanted)) await new Promise<void>((resolve) => (wake = resolve))
    },
  }
}

/** The state and the parent of a process. */
function statOf(pid: number | undefined): string[] {
  return readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
}

async function run(argv: readonly string[], options: Partial<StartRequest> = {}) {
  const ids = { usernsPid, first }
  const started = await startProcess({ ids, argv, streams: [1, 2, 3], limitBytes: 10_000, ...options })
  const [out, err] = [collect(started.stdout, 100_000), collect(started.stderr, 100_000)]
  const [code, signal] = await once(started, 'close')
  return { out: out.text(), err: err.text(), code, signal }
}
