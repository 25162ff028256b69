import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { Launcher } from './launch.ts'
import { missingPrograms } from './privileges.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-launch-'))
const launcher = Launcher.at(scratch)
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

async function run(script: string, words: readonly string[] = [], input = '') {
  const child = await launcher.launch({ script, words, stdin: 'pipe', stdout: 'pipe' })
  const exit = once(child, 'exit')
  child.stdin?.on('error', () => {}).end(input)
  const [stdout, stderr, report, [code]] = await Promise.all([
    text(child.stdout as NonNullable<typeof child.stdout>),
    text(child.stderr),
    text(child.report),
    exit,
  ])
  return { stdout, stderr, report, code }
}

describe.skipIf(missingPrograms().length > 0)('programs started by way of a small shell (needs bubblewrap)', () => {
  test('each stream arrives whole, and the status', async () => {
    const ran = await run('cat; echo oops >&2; echo fine >&3; exit 7', [], 'x'.repeat(300_000))
    expect(ran).toEqual({ stdout: 'x'.repeat(300_000), stderr: 'oops\n', report: 'fine\n', code: 7 })
  })

  test('words stay what they are, and none becomes a command of the shell', async () => {
    const words = ['', "it's", 'two\nlines', '$(id)', '`id`', ') ; exit 3 #', '\\', 'ü']
    const ran = await run('exec printf "%s|" "$@"', words)
    expect(ran).toMatchObject({ stdout: words.map((word) => `${word}|`).join(''), code: 0 })
  })

  test('a NUL is refused', async () => {
    await expect(run('exec printf %s "$1"', ['a\0b'])).rejects.toThrow('NUL')
  })

  test('a program has no descriptor of the shell, ignores no signal, and the pid that is told', async () => {
    const child = await launcher.launch({
      script: 'exec sh -c "echo \\$\\$; ls /proc/\\$\\$/fd; grep SigIgn /proc/self/status"',
      stdin: 'ignore',
      stdout: 'pipe',
    })
    const [pid, ...lines] = (await text(child.stdout as NonNullable<typeof child.stdout>)).trim().split('\n')
    expect(Number(pid)).toBe(child.pid)
    expect(lines.filter((line) => /^\d+$/.test(line))).toEqual(['0', '1', '2', '3'])
    expect(lines.at(-1)).toMatch(/^SigIgn:\s*0+$/)
  })

  test('a program that keeps its output open does not keep its end from being seen', async () => {
    const child = await launcher.launch({ script: 'sleep 1000 & echo $!', stdin: 'ignore', stdout: 'pipe' })
    const [[sleeper], [code]] = await Promise.all([
      once(child.stdout as NonNullable<typeof child.stdout>, 'data'),
      once(child, 'exit'),
    ])
    expect(code).toBe(0)
    expect(child.stdout?.closed).toBe(false)
    process.kill(Number(sleeper), 'SIGKILL')
    await once(child, 'close')
  })

  test('a kill ends it as a shell tells it, and no pipe keeps its name', async () => {
    const child = await launcher.launch({ script: 'exec sleep 1000', stdin: 'pipe', stdout: 'pipe' })
    const exit = once(child, 'exit')
    child.kill()
    expect((await exit)[0]).toBe(137)
    expect(child.kill()).toBe(false)
    const before = readdirSync(scratch).flatMap((id) => readdirSync(join(scratch, id))).length
    await run('exit 0')
    const after = readdirSync(scratch).flatMap((id) => readdirSync(join(scratch, id))).length
    expect((before - after + 48) % 48).toBe(4)
  })

  test('shells that have nothing to do end', async () => {
    const children = () => readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim()
    await Promise.all([run('exit 0'), run('exit 0')])
    expect(children()).not.toBe('')
    await vi.waitFor(() => expect(children()).toBe(''), { timeout: 50_000 })
    expect((await run('exit 6')).code).toBe(6)
  }, 60_000)

  test('pipes that somebody tidied away are made anew', async () => {
    for (const id of readdirSync(scratch)) rmSync(join(scratch, id), { recursive: true })
    expect((await run('exit 5')).code).toBe(5)
  })
})
