import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { homedir, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { findProgram } from '../src/lib/programs.ts'
import { baseImage, makeBase, startEngine, type TestEngine, whyNotApart } from '../test/container-engine.ts'
import { startModelServer } from '../test/fakes/model-server.ts'
import { type TaskFiles, writeTask } from '../test/fakes/tasks.ts'
import { type CpuGroup, makeCpuGroup } from './lib/cpu-group.ts'
import { findHarbor } from './lib/harbor-view.ts'
import { percentile, type Row } from './lib/rows.ts'

const version = '0.24.0'
const tasks = 4
const rounds = 3
const atOnce = 2

type Harness = 'ours' | 'harbor'

/** The cost of one job: wall time, and CPU time of the harness, of the engine, and inside its containers. */
interface Lap {
  readonly wallSec: number
  readonly harnessSec: number
  readonly engineSec: number
  readonly containersSec: number
}

interface Track {
  readonly engine: TestEngine
  readonly engineCpu: CpuGroup
  readonly containersCpu: CpuGroup
  readonly scratch: string
  readonly harbor: string
  readonly modelOrigin: string
}

/** One kind of job. Each harness gets its own folders, so that neither finds what the other built. */
interface Contest {
  readonly name: string
  readonly task: (harness: Harness, round: number) => TaskFiles
  readonly ours: readonly string[]
  readonly harbors: readonly string[]
}

/** The real Harbor and ot-agent run the same tasks on the same docker engine, taking turns. */
export default {
  name: 'harbor',
  run: async (): Promise<Row[]> => {
    const why = whyNotApart('docker') ?? whyNoCompose()
    const harbor = why === null ? (findHarbor() ?? installHarbor()) : null
    if (harbor === null) {
      process.stderr.write(`  skipped: harbor, because it needs ${why ?? 'Python 3.12 or newer'}\n`)
      return []
    }
    return race(harbor)
  },
}

/** Harbor starts every trial with Docker's own compose command. */
function whyNoCompose(): string | null {
  try {
    execFileSync(findProgram('docker') ?? 'docker', ['compose', 'version'], { stdio: 'ignore' })
    return null
  } catch {
    return 'docker compose, version 2'
  }
}

/** Installs the real Harbor if there is a recent enough Python; otherwise returns null. */
function installHarbor(): string | null {
  const isNewEnough = (program: string) => {
    const check = 'import sys; sys.exit(sys.version_info < (3, 12))'
    try {
      execFileSync(program, ['-c', check], { stdio: 'ignore' })
      return true
    } catch {
      return false
    }
  }
  const python = ['python3', 'python3.14', 'python3.13', 'python3.12'].find(isNewEnough)
  if (python === undefined) return null
  const venv = join(homedir(), '.cache', 'ot-agent', 'interop', 'venvs', `harbor-${version}`)
  execFileSync(python, ['-m', 'venv', venv], { stdio: 'inherit' })
  execFileSync(join(venv, 'bin', 'pip'), ['install', '-q', `harbor==${version}`], { stdio: 'inherit' })
  return join(venv, 'bin', 'harbor')
}

async function race(harbor: string): Promise<Row[]> {
  const scratch = mkdtempSync(join(tmpdir(), 'ot-race-'))
  const group = `ot-agent-race-${process.pid}`
  const [engineCpu, containersCpu] = [makeCpuGroup(`${group}/engine`), makeCpuGroup(`${group}/containers`)]
  const server = await startModelServer()
  const engine = await engineCpu.within(() =>
    startEngine('docker', { apart: true, containersIn: `/${containersCpu.path}` }),
  )
  try {
    await makeBase(engine.engine, ['tmux', 'script', '/usr/share/terminfo', '/lib/terminfo', '/usr/lib/locale/C.utf8'])
    const track = { engine, engineCpu, containersCpu, scratch, harbor, modelOrigin: server.origin }
    const rows: Row[] = []
    for (const contest of contests) {
      server.plan((response, { body }) => reply(response, body, contest.name))
      // If one contest is impossible, for example because the image lacks a program, the others still count.
      const startedMs = performance.now()
      const laps = await run(track, contest).catch((error: unknown) => error)
      process.stderr.write(`  ${contest.name}: ${Math.round((performance.now() - startedMs) / 1000)} s\n`)
      if (Array.isArray(laps)) rows.push(...laps)
      else process.stderr.write(`  skipped: ${contest.name}: ${String(laps).slice(0, 400)}\n`)
    }
    return rows
  } finally {
    await Promise.all([engine.stop(), server.close()])
    for (const cpu of [engineCpu, containersCpu]) cpu.remove()
    rmSync(scratch, { recursive: true, force: true })
  }
}

const dockerfile = (line: string) => ({ 'environment/Dockerfile': `FROM ${baseImage}\nRUN echo ${line} > /made\n` })
const imageGiven: Contest['task'] = () => ({ toml: toml(`docker_image = "${baseImage}"`) })
const oracle = { ours: ['-a', 'oracle'], harbors: ['-a', 'oracle'] }
const terminus = (...more: string[]) => ({
  ours: ['-a', 'terminus-2', '-m', 'openai/m', '--engine', 'openai', ...more],
  harbors: ['-a', 'terminus-2', '-m', 'openai/m', '--ak', 'record_terminal_session=false'],
})

const contests: readonly Contest[] = [
  {
    name: 'oracle, new images',
    task: (who, round) => ({ toml: toml(), files: dockerfile(`${who} ${round}`) }),
    ...oracle,
  },
  { name: 'oracle, images built before', task: (who) => ({ toml: toml(), files: dockerfile(who) }), ...oracle },
  { name: 'oracle, image given', task: imageGiven, ...oracle },
  { name: 'terminus-2, 0.1 s a command', task: imageGiven, ...terminus() },
  { name: 'terminus-2, 1 s a command', task: imageGiven, ...terminus() },
  { name: 'terminus-2, 1 s a command, waiting alike', task: imageGiven, ...terminus('--ak', 'wait=full') },
]

function toml(environment = ''): string {
  return `schema_version = "1.2"\n[environment]\nallow_internet = true\n${environment}\n`
}

/** A stand-in for a model that replies at once: three commands, one per turn, then the task is complete. */
function reply(response: ServerResponse, body: { messages: { role: string }[] }, contest: string): void {
  const turn = body.messages.filter(({ role }) => role === 'assistant').length
  const duration = contest.includes('0.1 s') ? 0.1 : 1
  const commands = ['ls /\n', 'echo 42 > /answer\n', 'cat /answer\n'].slice(turn, turn + 1)
  const content = JSON.stringify({
    ...{ analysis: 'One step after the other.', plan: 'Go on.' },
    commands: commands.map((keystrokes) => ({ keystrokes, duration })),
    task_complete: commands.length === 0,
  })
  const message = { role: 'assistant', content }
  const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }
  response.setHeader('content-type', 'application/json')
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  response.end(JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices, usage }))
}

/** The harnesses take turns, alternating who goes first. The first round warms up both and is not counted. */
async function run(track: Track, contest: Contest): Promise<Row[]> {
  const laps: Record<Harness, Lap[]> = { ours: [], harbor: [] }
  for (let round = 0; round <= rounds; round++) {
    const order: Harness[] = round % 2 === 0 ? ['ours', 'harbor'] : ['harbor', 'ours']
    for (const harness of order) {
      const lap = await drive(track, contest, harness, round)
      if (round > 0) laps[harness].push(lap)
    }
  }
  return [
    ...compare(contest.name, 'wall time', laps, ({ wallSec }) => wallSec),
    ...compare(contest.name, 'CPU of the harness', laps, ({ harnessSec }) => harnessSec),
    ...compare(contest.name, 'CPU of the engine', laps, ({ engineSec }) => engineSec),
    ...compare(contest.name, 'CPU in containers', laps, ({ containersSec }) => containersSec),
  ]
}

/** The median for each harness, and the ratio of Harbor's to ours, with the smallest and largest of the rounds. */
function compare(contest: string, what: string, laps: Record<Harness, Lap[]>, of: (lap: Lap) => number): Row[] {
  const ratios = laps.harbor.map((lap, i) => of(lap) / of(laps.ours[i] as Lap))
  const [low, high] = [Math.min(...ratios).toPrecision(3), Math.max(...ratios).toPrecision(3)]
  return [
    { name: `${contest}: ${what}, ours`, value: (1000 * percentile(laps.ours.map(of), 0.5)) / tasks, unit: 'ms/trial' },
    {
      name: `${contest}: ${what}, Harbor`,
      value: (1000 * percentile(laps.harbor.map(of), 0.5)) / tasks,
      unit: 'ms/trial',
    },
    { name: `${contest}: ${what}, times ours (${low} to ${high})`, value: percentile(ratios, 0.5), unit: 'x' },
  ]
}

async function drive(track: Track, contest: Contest, harness: Harness, round: number): Promise<Lap> {
  const { engine, engineCpu, containersCpu, scratch, modelOrigin } = track
  const dir = join(scratch, `${harness}-${round}`)
  const [folder, jobs] = [join(dir, 'tasks'), join(dir, 'jobs')]
  for (let i = 0; i < tasks; i++) await writeTask(folder, `task-${i}`, contest.task(harness, round))
  mkdirSync(jobs)
  const shared = ['run', '-p', folder, '-e', 'docker', '-n', String(atOnce), '-o', jobs, '--job-name', 'race']
  const api = `${modelOrigin}/v1`
  const argv =
    harness === 'ours'
      ? [
          process.execPath,
          resolve('bin/ot-agent.js'),
          ...shared,
          '-q',
          ...contest.ours,
          '--ek',
          `socket=${engine.socket}`,
        ]
      : [track.harbor, ...shared, '-q', '-y', ...contest.harbors]
  if (argv.includes('terminus-2'))
    argv.push(...(harness === 'ours' ? ['--api-base', api] : ['--ak', `api_base=${api}`]))
  const before = [engineCpu.cpuSec(), containersCpu.cpuSec()] as const
  const { wallSec, harnessSec } = await timed(argv, {
    ...{ ...process.env, ...engine.env, OPENAI_API_KEY: 'none', XDG_CACHE_HOME: join(scratch, 'cache') },
    HARBOR_TELEMETRY: 'off',
  })
  expectScored(join(jobs, 'race'), harness)
  const [engineSec, containersSec] = [engineCpu.cpuSec() - before[0], containersCpu.cpuSec() - before[1]]
  rmSync(dir, { recursive: true, force: true })
  return { wallSec, harnessSec, engineSec, containersSec }
}

/** CPU time includes the program and everything it started and waited for. */
async function timed(argv: readonly string[], env: NodeJS.ProcessEnv) {
  const started = performance.now()
  const script = 'TIMEFORMAT="%U %S"; { time "$@" > /dev/null 2> "$0"; } 2>&1'
  const log = join(tmpdir(), `ot-race-${process.pid}.log`)
  const child = spawn(findProgram('bash') ?? 'bash', ['-c', script, log, ...argv], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const [code] = await once(child, 'close')
  const wallSec = (performance.now() - started) / 1000
  const complaint = readFileSync(log, 'utf8')
  rmSync(log)
  if (code !== 0) throw new Error(`${argv.join(' ')} ended with ${code}: ${complaint.slice(-2000)}`)
  const [user = 0, system = 0] = said.trim().split(' ').map(Number)
  return { wallSec, harnessSec: user + system }
}

/** A harness that fails is not fast. */
function expectScored(job: string, harness: Harness): void {
  const results = readdirSync(job, { withFileTypes: true }).flatMap((entry) => {
    if (!entry.isDirectory() || entry.name.startsWith('.')) return []
    return [JSON.parse(readFileSync(join(job, entry.name, 'result.json'), 'utf8'))]
  })
  const scored = results.filter((result) => result.verifier_result?.rewards?.reward === 1)
  if (scored.length === tasks) return
  const trouble = results.find((result) => result.exception_info)?.exception_info
  throw new Error(
    `${harness}: ${scored.length} of ${tasks} trials scored: ${JSON.stringify(trouble ?? results[0]).slice(0, 2000)}`,
  )
}
