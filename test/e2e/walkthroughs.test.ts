import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { scratch, withSandboxes } from './kit.ts'

/** A walkthrough in the guide: its files, the lines that a reader types, and the output it shows. */
interface Walkthrough {
  readonly title: string
  readonly files: readonly (readonly [path: string, content: string])[]
  readonly lines: readonly string[]
  readonly shown: readonly string[]
}

const [introduction = '', ...sections] = readFileSync('docs/guides/walkthroughs.md', 'utf8').split(/^## \d\. /m)
const walkthroughs = sections.map((section): Walkthrough => {
  const files = [...section.matchAll(/`([\w./-]+)`:\n\n```\w+\n([\s\S]*?)^```/gm)]
  const typed = [...section.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^ {4}(\S.*)$/gm)].map(
    ([, line = '']) => line,
  )
  const isCommand = (line: string) => /^(npx ot-agent|cp) /.test(line)
  return {
    title: section.split('\n')[0] ?? '',
    files: files.map(([, path = '', content = '']) => [path, content]),
    lines: typed.filter(isCommand),
    shown: typed.filter((line) => !isCommand(line)),
  }
})

/** One folder, empty at first: later walkthroughs continue with what earlier ones made. */
const place = join(scratch, 'guide')

async function shell(line: string) {
  const command = line.replaceAll('npx ot-agent', `${process.execPath} ${resolve('bin/ot-agent.js')}`)
  const env = { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache') }
  const child = spawn('bash', ['-c', command], { cwd: place, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { status, stdout, stderr }
}

test('the program comes into an empty folder as the introduction says', async () => {
  const [, line = ''] = /^ {4}(\S.*)$/m.exec(introduction) ?? []
  expect(line).toBe('npm install /path/to/ot-agent')
  const empty = join(scratch, 'empty')
  mkdirSync(empty)
  const command = `${line.replace('/path/to/ot-agent', `'${resolve('.')}'`)} --offline --no-audit --no-fund && npx --no-install ot-agent --version`
  const child = spawn('bash', ['-c', command], { cwd: empty, stdio: ['ignore', 'pipe', 'inherit'] })
  const [stdout] = await Promise.all([text(child.stdout), once(child, 'close')])
  expect(stdout.trimEnd().split('\n').at(-1)).toBe(JSON.parse(readFileSync('package.json', 'utf8')).version)
})

withSandboxes('the walkthroughs of the guide', () => {
  test('there are five', () => {
    expect(walkthroughs.map(({ lines }) => lines.length)).toEqual([5, 3, 8, 1, 2])
    expect(walkthroughs.map(({ shown }) => shown.length)).toEqual([0, 1, 2, 1, 1])
    mkdirSync(place, { recursive: true })
  })

  test.each(walkthroughs)('$title', async ({ files, lines, shown }) => {
    for (const [path, content] of files) {
      mkdirSync(dirname(join(place, path)), { recursive: true })
      writeFileSync(join(place, path), content)
    }
    let printed = ''
    for (const line of lines) {
      const { status, stdout, stderr } = await shell(line)
      expect(status, `${line}\n${stdout}${stderr}`).toBe(0)
      printed += stdout
    }
    for (const line of shown) expect(printed).toContain(line)
  })

  test('they made what they say: traces, a dataset, a job without failures', () => {
    const lines = (path: string) => readFileSync(join(place, path), 'utf8').trimEnd().split('\n')
    expect(JSON.parse(lines('generated/quiz-traces/summary.json').join('\n'))).toMatchObject({
      status: 'success',
      traces: { metadata: { trials: 3, meanReward: 1 } },
    })
    expect(lines('runs/sums/out/dataset/jsonl/train-00000-of-00001.jsonl')).toHaveLength(2)
    const { stats } = JSON.parse(lines('jobs/second/result.json').join('\n'))
    expect(stats).toMatchObject({ n_completed_trials: 3, n_errored_trials: 0 })
  })
})
