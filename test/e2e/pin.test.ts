import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { PinReport } from '../../src/app/pin/pin-task.ts'
import { loadTask } from '../../src/formats/harbor-task/load.ts'
import { writeRepository } from '../fakes/debian-repository.ts'
import { writeTree } from '../make-task.ts'
import { needs } from '../needs.ts'
import { scratch, stateDir, withSandboxes } from './kit.ts'

const sources = "RUN echo 'deb [trusted=yes] file:/repo ./' > /etc/apt/sources.list && rm -rf /etc/apt/sources.list.d/*"
const apt = 'apt-get -o APT::Sandbox::User=root'
const beginning = `FROM debian:12-slim\nCOPY repo /repo\n${sources}\n`
/** A Dockerfile as people write it: comments, continued lines, quotes. */
const greeting = `${beginning}# what the task needs
RUN ${apt} update && \\
    # more than one
    ${apt} install -y --no-install-recommends "greet" \\
      coreutils=* $MORE \\
 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
`
const passes = (condition: string) =>
  `#!/bin/sh\nif ${condition}; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n`

const honest = {
  'task.toml': '# by hand\nschema_version = "1.2"\n[environment]\nallow_internet = false\n',
  'instruction.md': 'Write what the program greet says to /app/out.txt.\n',
  'environment/Dockerfile': greeting,
  'solution/solve.sh': '#!/bin/sh\ngreet > /app/out.txt\n',
  'tests/test.sh': passes('[ "$(cat /app/out.txt)" = "greet 1:1.1-1" ]'),
}

const lineage =
  '[metadata.lineage]\npipeline = "p"\nstrategy = "row-template"\nrow_id = "7"\nrow_digest = "ab"\nseed = 3\n'
const tasks: Record<string, Record<string, string>> = {
  greets: {},
  made: { 'task.toml': `schema_version = "1.2"\n${lineage}` },
  'does-not-hold': { 'solution/solve.sh': '#!/bin/sh\necho hello > /app/out.txt\n' },
  'breaks-pinned': {
    'environment/Dockerfile': `${greeting}COPY Dockerfile /etc/recipe\n`,
    'tests/test.sh': passes(`grep -qx 'greet 1:1.1-1' /app/out.txt && grep -q '"greet"' /etc/recipe`),
  },
  'does-not-build': { 'environment/Dockerfile': `${beginning}RUN ${apt} install nobody-knows\n` },
  'installs-nothing': {
    'environment/Dockerfile': 'FROM debian:12-slim\nWORKDIR /app\n',
    'solution/solve.sh': '#!/bin/sh\necho greet 1:1.1-1 > /app/out.txt\n',
  },
}

async function writeTask(dir: string, changes: Record<string, string> = {}): Promise<string> {
  await writeTree(dir, { ...honest, ...changes })
  await writeRepository(join(dir, 'environment/repo'), 'greet', ['1.0-1', '1:1.1-1'])
  return dir
}

interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

async function otAgent(...argv: string[]): Promise<Ran> {
  const env = { ...process.env, XDG_CACHE_HOME: stateDir }
  const child = spawn(process.execPath, ['bin/ot-agent.js', ...argv], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (chunk) => (output.stdout += chunk))
  child.stderr.setEncoding('utf8').on('data', (chunk) => (output.stderr += chunk))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, ...output }
}

const reportsOf = ({ stdout }: Ran) =>
  new Map((JSON.parse(stdout) as { tasks: PinReport[] }).tasks.map((report) => [report.task, report]))

const folder = join(scratch, 'loose')
const dockerfileOf = (name: string) => readFileSync(join(folder, name, 'environment/Dockerfile'), 'utf8')
const pinned = greeting.replace('"greet"', '"greet=1:1.1-1"')

describe('with apt', needs('dpkg-deb', 'apt-get', 'dpkg-query'), () => {
  withSandboxes('tasks pin', () => {
    let result: Ran
    let reports: Map<string, PinReport>
    let before: string

    beforeAll(async () => {
      for (const [name, changes] of Object.entries(tasks)) await writeTask(join(folder, name), changes)
      before = (await loadTask(join(folder, 'made'))).digests.content
      result = await otAgent('tasks', 'pin', folder, '--in-place', '--trust-stand-in', '-n', '2', '--json')
      reports = reportsOf(result)
    })

    test('a task gets the versions that are installed, and every other byte stays', () => {
      expect(reports.get('greets')).toMatchObject({
        status: 'pinned',
        pins: [{ manager: 'apt', line: 7, from: 'greet', to: 'greet=1:1.1-1' }],
        left: [
          { manager: 'image', written: 'debian:12-slim', line: 1, why: expect.stringContaining('not known') },
          { written: 'coreutils=*', why: 'a pattern' },
          { written: '$MORE', why: 'a variable of the shell' },
        ],
      })
      expect(dockerfileOf('greets')).toBe(pinned)
      expect(readFileSync(join(folder, 'greets/task.toml'), 'utf8')).toBe(honest['task.toml'])
    })

    test('a task that knows where it came from has its former self as parent', async () => {
      const made = await loadTask(join(folder, 'made'))
      expect(made.metadata.lineage).toMatchObject({ pipeline: 'p', row_id: '7', strategy: 'pin', parents: [before] })
      expect(reports.get('made')).toMatchObject({ digest: { before, after: made.digests.content }, written: made.dir })
    })

    test('a task that does not hold, or does not build, is refused and stays', () => {
      expect(reports.get('does-not-hold')).toMatchObject({
        status: 'refused',
        reason: expect.stringMatching(/it fails tasks check before pinning: oracle: scored 0/),
      })
      expect(reports.get('does-not-build')).toMatchObject({
        status: 'refused',
        reason: expect.stringMatching(/Dockerfile:4.*exit code 100/s),
      })
      expect(dockerfileOf('does-not-hold')).toBe(greeting)
      expect(result.code).toBe(3)
    })

    test('a task that would not hold pinned is left as it was', () => {
      expect(reports.get('breaks-pinned')).toMatchObject({
        status: 'kept',
        reason: expect.stringMatching(/it fails tasks check once pinned: oracle: scored 0/),
        written: null,
      })
      expect(dockerfileOf('breaks-pinned')).not.toContain('1.1-1')
    })

    test('a task that installs nothing is left alone', () => {
      expect(reports.get('installs-nothing')).toMatchObject({ status: 'unchanged', pins: [], written: null })
    })

    test('no sandbox, no copy and no half-written file is left', async () => {
      for (const name of readdirSync(folder)) expect(readdirSync(join(folder, name)).join()).not.toMatch(/\.tmp/)
      expect((await otAgent('clean', '--dry-run', '--json')).stdout).toContain('"reaped": []')
    })

    test('pinned, a task is the same after its packages moved on, and once more there is nothing to do', async () => {
      const dir = join(folder, 'greets')
      await writeRepository(join(dir, 'environment/repo'), 'greet', ['1.0-1', '1:1.1-1', '1:2.0-1'])
      const again = await otAgent('tasks', 'pin', dir, '--in-place', '--trust-stand-in', '--json')
      expect(again.code).toBe(0)
      expect(reportsOf(again).get('greets')?.status).toBe('unchanged')
      expect(dockerfileOf('greets')).toBe(pinned)
      const { stdout } = await otAgent('tasks', 'check', dir, '--repeats', '1')
      expect(stdout).toMatch(/^greets +accepted/m)
    })

    test('copies are written whole, the originals stay, and a place that is taken is an error', async () => {
      const dir = await writeTask(join(scratch, 'original'))
      const out = join(scratch, 'copies')
      const ran = await otAgent('tasks', 'pin', dir, '-o', out, '--trust-stand-in', '--no-check')
      expect(ran.stdout).toMatch(/^original +7 +apt +greet +greet=1:1.1-1$/m)
      expect(ran.stdout).toMatch(/^original +pinned +1 +3$/m)
      expect(await readFile(join(dir, 'environment/Dockerfile'), 'utf8')).toBe(greeting)
      const copy = await loadTask(join(out, 'original'))
      expect(await readFile(join(copy.dir, 'environment/Dockerfile'), 'utf8')).toBe(pinned)
      const taken = await otAgent('tasks', 'pin', dir, '--out', out, '--trust-stand-in')
      expect({ code: taken.code, stderr: taken.stderr }).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/copies\/original: expected a new path/),
      })
    })

    test('a base that only stands in for another is used only on request; a dry run writes nothing', async () => {
      const dir = await writeTask(join(scratch, 'careful'))
      const refused = await otAgent('tasks', 'pin', dir, '--in-place')
      expect(refused).toMatchObject({ code: 3, stdout: expect.stringMatching(/careful +refused .*using .* instead/) })
      const dry = await otAgent('tasks', 'pin', dir, '--dry-run', '--trust-stand-in')
      expect(dry).toMatchObject({ code: 0, stdout: expect.stringMatching(/careful +would-pin +1/) })
      expect(await readFile(join(dir, 'environment/Dockerfile'), 'utf8')).toBe(greeting)
    })
  })
})

/** A wheel is a zip file with some text files in it. */
async function writeWheel(dir: string, name: string, version: string): Promise<void> {
  const info = `${name}-${version}.dist-info`
  const draft = join(scratch, `wheel-${version}`)
  await writeTree(draft, {
    [`${name}.py`]: `version = "${version}"\n`,
    [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\nProvides-Extra: loud\n`,
    [`${info}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    [`${info}/RECORD`]: '',
  })
  const wheel = join(dir, `${name}-${version}-py3-none-any.whl`)
  execFileSync('/usr/bin/python3', ['-m', 'zipfile', '-c', wheel, `${name}.py`, info], { cwd: draft })
}

const hasPip = spawnSync('/usr/bin/python3', ['-m', 'pip', '--version']).status === 0

withSandboxes(
  'tasks pin with pip',
  () => {
    test('asks the same pip, and makes a range of versions exact', async () => {
      const start = 'FROM debian:12-slim\nENV PIP_BREAK_SYSTEM_PACKAGES=1\nCOPY wheels /wheels\n'
      const install = 'RUN python3 -m pip install --no-index --find-links /wheels'
      const dockerfile = `${start}${install} 'greet_py[loud]>=1,<3'\n`
      const dir = await writeTask(join(scratch, 'pip'), {
        'environment/Dockerfile': dockerfile,
        'environment/wheels/.keep': '',
      })
      for (const version of ['1.4.0', '2.0.0', '3.0.0'])
        await writeWheel(join(dir, 'environment/wheels'), 'greet_py', version)
      const ran = await otAgent('tasks', 'pin', dir, '--in-place', '--trust-stand-in', '--no-check', '--json')
      expect(reportsOf(ran).get('pip')).toMatchObject({
        status: 'pinned',
        pins: [{ manager: 'pip', from: 'greet_py[loud]>=1,<3', to: 'greet_py[loud]==2.0.0' }],
      })
      const after = await readFile(join(dir, 'environment/Dockerfile'), 'utf8')
      expect(after).toBe(dockerfile.replace('>=1,<3', '==2.0.0'))
    })
  },
  hasPip ? null : 'needs /usr/bin/python3 with pip, not found on this machine',
)

test.each([
  ['no say about where to write', ['examples/tasks'], /expected --in-place, --out DIR or --dry-run/],
  ['two places to write', ['examples/tasks', '--in-place', '--out', 'x'], /--in-place or --out, got both/],
  ['a path that is not there', ['no/such/path', '--dry-run'], /no\/such\/path: expected a task or a folder of tasks/],
  ['an unknown sandbox', ['examples/tasks', '--dry-run', '-e', 'cloud9'], /unknown sandbox "cloud9"/],
])('%s is an error of two lines', async (_, argv, message) => {
  const { code, stderr } = await otAgent('tasks', 'pin', ...argv)
  expect({ code, lines: stderr.trimEnd().split('\n').length }).toEqual({ code: 2, lines: 2 })
  expect(stderr).toMatch(message)
})
