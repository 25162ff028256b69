import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { SandboxLease, TerminalOptions } from '../../src/core/sandbox.ts'
import { Cast } from '../../src/lib/terminal/cast.ts'
import { promptMarkEnv } from '../../src/lib/terminal/idle.ts'
import { TerminalSession } from '../../src/lib/terminal/session.ts'
import local from '../../src/sandboxes/local/index.ts'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { plainEnvironment } from '../contracts/environment.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-terminal-'))
const size = { cols: 160, rows: 40 }
/** Longer than any test: a wait that does not end when the shell is idle fails the test. */
const hourMs = 3_600_000

describe.skipIf(missingPrograms().length > 0)('a terminal in a local sandbox (needs bubblewrap)', () => {
  let box: SandboxLease
  const open: TerminalSession[] = []
  const provider = local.make({ pids: 512, verify: 'fresh' }, { env: {}, stateDir: join(scratch, 'state') })
  const sh = async (script: string) => (await box.exec(['sh', '-c', script])).stdout
  const has = async (program: string) => (await box.exec(['sh', '-c', `command -v ${program}`])).exitCode === 0

  beforeAll(async () => {
    mkdirSync(join(scratch, 'environment'))
    const environment = plainEnvironment(join(scratch, 'environment'))
    box = await provider.lease({ owner: { job: 'terminal', trial: 'one' }, environment })
  })
  afterEach(async () => {
    for (const session of open.splice(0)) await session.close()
  })
  afterAll(async () => {
    await box[Symbol.asyncDispose]()
    rmSync(scratch, { recursive: true, force: true })
  })

  async function openSession(options: TerminalOptions = {}, cast?: Cast): Promise<TerminalSession> {
    const env = { ...promptMarkEnv, LANG: 'C.UTF-8', PS1: '$ ', ...options.env }
    const argv = ['bash', '--norc', '--noprofile']
    const session = new TerminalSession(await box.openTerminal({ ...size, argv, ...options, env }), {
      ...size,
      ...(cast && { cast }),
    })
    open.push(session)
    await session.ready({ outputMs: hourMs, promptMs: hourMs })
    return session
  }

  /** Types a line and waits for the shell to return. */
  async function run(session: TerminalSession, line: string): Promise<string> {
    await session.send(`${line}\n`, { ms: hourMs, wait: 'idle' })
    return (await session.look()).text
  }

  /** Types into a program without a prompt of ours, and waits until the screen shows something. */
  async function type(session: TerminalSession, keys: string, until: RegExp | ((screen: string) => boolean)) {
    await session.send(keys, { ms: 1, wait: 'full' })
    const shown = typeof until === 'function' ? until : (screen: string) => until.test(screen)
    while (!shown(await session.visible())) await session.send('', { ms: 20, wait: 'full' })
    return session.visible()
  }

  test('returns as soon as the shell is idle, with exactly the new output', async () => {
    const session = await openSession()
    await session.look()
    expect(await run(session, 'echo one; echo two')).toBe('$ echo one; echo two\none\ntwo\n$')
    expect(await run(session, 'true')).toBe('$ true\n$')
    await run(session, "PS1='> '")
    expect(await run(session, 'sleep 0.3; echo late')).toBe('> sleep 0.3; echo late\nlate\n>')
  })

  test('waits for all lines that were typed at once', async () => {
    const session = await openSession()
    await session.look()
    expect(await run(session, 'sleep 0.2\necho first\nsleep 0.2\necho last')).toMatch(/first\n[\s\S]*\nlast\n\$$/)
  })

  test('waits for the end of a here-document of 50 KB and writes it whole', async () => {
    const session = await openSession()
    const lines = Array.from({ length: 1000 }, (_, i) => `${i} ${'x'.repeat(44)}`)
    await run(session, `cat > /tmp/long.txt <<'END'\n${lines.join('\n')}\nEND`)
    expect(await sh('cat /tmp/long.txt')).toBe(`${lines.join('\n')}\n`)
  })

  test('holds what a busy program does not read yet, and blocks nothing else', async () => {
    const [busy, calm] = await Promise.all([openSession(), openSession()])
    await sh('mkfifo /tmp/go-on')
    await busy.send('cat /tmp/go-on; cat > /tmp/ahead.txt\n', { ms: 100, wait: 'full' })
    const lines = Array.from({ length: 400 }, (_, i) => `${i} ${'x'.repeat(90)}`)
    await busy.send(`${lines.join('\n')}\n`, { ms: 50, wait: 'full' })
    expect(await run(calm, 'echo still here; echo > /tmp/go-on')).toContain('\nstill here\n')
    await busy.send('C-d', { ms: hourMs, wait: 'idle' })
    expect(await sh('cat /tmp/ahead.txt')).toBe(`${lines.join('\n')}\n`)
  })

  test('waits the full time when asked to, or when the shell is not ours', async () => {
    const session = await openSession()
    await session.look()
    await run(session, '(sleep 0.2; echo later) &')
    await session.send('', { ms: 1500, wait: 'idle' })
    expect((await session.look()).text).toMatch(/later$/)
    await session.send('sleep 0.2 && echo after\n', { ms: 1500, wait: 'full' })
    expect((await session.look()).text).toMatch(/\nafter\n\$$/)
    await session.send('cat\n', { ms: 100, wait: 'idle' })
    await session.send('hello\n', { ms: 100, wait: 'idle' })
    expect(await session.visible()).toMatch(/\$ cat\nhello\nhello$/)
    await session.send('C-d', { ms: hourMs, wait: 'idle' })
  })

  test('types text that starts with a dash or ends with a semicolon', async () => {
    const session = await openSession()
    await session.look()
    await session.send('-n;', { ms: 1, wait: 'full' })
    await session.send('C-u', { ms: 1, wait: 'full' })
    await session.send('echo a;', { ms: 1, wait: 'full' })
    await session.send('Enter', { ms: hourMs, wait: 'idle' })
    expect((await session.look()).text).toMatch(/echo a;\na\n\$$/)
  })

  test('pastes several lines as one, where the program can tell', async () => {
    const session = await openSession()
    await session.look()
    const options = { ms: hourMs, wait: 'idle', paste: true } as const
    await session.send('echo one\necho two\n', options)
    const { text } = await session.look()
    expect(text.match(/^\$/gm)).toHaveLength(2)
    expect(text).toMatch(/\none\ntwo\n\$$/)
  })

  test('knows when a shell inside the shell is idle', async () => {
    const session = await openSession()
    await run(session, 'bash --norc --noprofile')
    expect(await run(session, 'echo level $SHLVL')).toContain('level 2')
  })

  test('stops a running program with C-c', async () => {
    const session = await openSession()
    await session.send('sleep 3600\n', { ms: 100, wait: 'full' })
    await session.send('C-c', { ms: hourMs, wait: 'idle' })
    expect(await run(session, 'echo $?')).toContain('130')
  })

  test('shows wide characters, and the cursor stays in its place', async () => {
    const session = await openSession()
    await session.look()
    expect(await run(session, "printf '日本語 🙂 e\\u0301\\n'")).toContain('\n日本語 🙂 e\u0301\n$')
    await session.send('echo 🙂日', { ms: 50, wait: 'full' })
    await session.send('Left', { ms: 50, wait: 'full' })
    await session.send('X', { ms: 50, wait: 'full' })
    expect(await session.visible()).toMatch(/\$ echo 🙂X日$/)
  })

  test('knows when its program is gone', async () => {
    const session = await openSession()
    await session.send('exit 3\n', { ms: hourMs, wait: 'full' })
    expect(session.isOver).toBe(true)
  })

  test('tells the program its new size', async () => {
    const session = await openSession()
    session.resize(100, 30)
    // On a resize the shell prints its prompt again, which looks like the end of a command.
    expect(await type(session, 'stty size\n', /30 100/)).toContain('30 100')
  })

  test('records what happened', async () => {
    const path = join(scratch, 'recording.cast')
    const session = await openSession({}, new Cast(path, size))
    await run(session, 'echo recorded')
    open.splice(open.indexOf(session), 1)
    await session.close()
    const events = readFileSync(path, 'utf8')
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((line) => JSON.parse(line))
    const text = (kind: string) =>
      events
        .filter((event) => event[1] === kind)
        .map((event) => event[2])
        .join('')
    expect(text('i')).toBe('echo recorded\n')
    expect(text('o')).toMatch(/\rrecorded\r\n/)
  })

  test('reads 10 MB while another terminal keeps working', async () => {
    const [flooded, calm] = await Promise.all([openSession(), openSession()])
    let flooding = true
    const flood = run(flooded, `yes ${'x'.repeat(79)} | head -c 10000000; echo; echo the end`).then((text) => {
      flooding = false
      return text
    })
    let turns = 0
    for (; flooding && turns < 20; turns++)
      expect(await run(calm, `echo turn-$((${turns}+1))`)).toContain(`turn-${turns + 1}`)
    expect(turns).toBeGreaterThanOrEqual(5)
    expect(await flood).toMatch(/the end\n\$$/)
  })

  test('drives vi', async (context) => {
    if (!(await has('vi'))) return context.skip('needs vi')
    const session = await openSession({ cwd: '/tmp' })
    await type(session, 'vi note.txt\n', () => session.screen.alternate)
    await type(session, 'ifirst line\nsecond line', /first line\n *second line/)
    await session.send('Escape', { ms: 50, wait: 'full' })
    await type(session, 'gg', /first line/)
    await session.send('dd', { ms: 50, wait: 'full' })
    await session.send('p', { ms: 50, wait: 'full' })
    expect((await session.look()).kind).toBe('screen')
    await session.send(':wq\n', { ms: hourMs, wait: 'idle' })
    expect(session.screen.alternate).toBe(false)
    expect(await sh('cat /tmp/note.txt')).toBe('second line\nfirst line\n')
  })

  test('drives less', async (context) => {
    if (!(await has('less'))) return context.skip('needs less')
    const session = await openSession()
    await run(session, 'seq 1 500 > /tmp/numbers')
    await type(session, 'less /tmp/numbers\n', /^1\n2\n/)
    await type(session, '/^321$\n', /^321\n/)
    await type(session, 'G', /\n500\n/)
    await type(session, 'PageUp', /\n450\n/)
    await session.send('q', { ms: hourMs, wait: 'idle' })
    expect(await session.visible()).toMatch(/less \/tmp\/numbers\n\$$/)
  })

  test('drives a python3 session', async (context) => {
    if (!(await has('python3'))) return context.skip('needs python3')
    const session = await openSession()
    await type(session, 'python3\n', />>> ?$/)
    await type(session, 'for i in range(3):\n    print("row", i)\n\n', /row 2\n>>> ?$/)
    await type(session, 'while True: pass\n', /pass\n/)
    await session.send('', { ms: 100, wait: 'full' })
    await type(session, 'C-c', /KeyboardInterrupt\n>>> ?$/)
    await session.send('C-d', { ms: hourMs, wait: 'idle' })
    expect(await run(session, 'echo back')).toMatch(/back\n\$$/)
  })

  test('drives git rebase -i', async (context) => {
    const editor = (await has('vi')) ? 'vi' : 'nano'
    if (!(await has('git')) || !(await has(editor))) return context.skip('needs git, and vi or nano')
    const identity = {
      GIT_AUTHOR_NAME: 'a',
      GIT_AUTHOR_EMAIL: 'a@b.c',
      GIT_COMMITTER_NAME: 'a',
      GIT_COMMITTER_EMAIL: 'a@b.c',
    }
    const session = await openSession({ env: { ...identity, GIT_EDITOR: editor } })
    await run(
      session,
      'git init -q /tmp/repo && cd /tmp/repo && for i in 1 2 3; do echo $i > f$i; git add .; git commit -qm c$i; done',
    )
    await type(session, 'git rebase -i --root\n', /pick \w+ (# )?c1[\s\S]*c3/)
    if (editor === 'vi') {
      await type(session, 'jdw', /\n\w+ (# )?c2/)
      await type(session, 'idrop ', /\ndrop \w+/)
      await session.send('Escape', { ms: 50, wait: 'full' })
      await session.send(':wq\n', { ms: hourMs, wait: 'idle' })
    } else {
      await type(session, 'Down', /pick/)
      await type(session, 'drop #', /drop #/)
      await session.send('C-o', { ms: 100, wait: 'full' })
      await session.send('Enter', { ms: 100, wait: 'full' })
      await session.send('C-x', { ms: hourMs, wait: 'idle' })
    }
    expect(await run(session, 'git log --format=%s | tr "\\n" ,')).toContain('c3,c1,')
  })
})
