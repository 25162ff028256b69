import { execFile, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { SandboxLease, SandboxProvider } from '../src/core/sandbox.ts'
import { mapInOrder } from '../src/lib/map-in-order.ts'
import { findProgram } from '../src/lib/programs.ts'
import docker from '../src/sandboxes/docker.ts'
import podman from '../src/sandboxes/podman.ts'
import { baseImage, makeBase, startEngine, type TestEngine, whyNotEngine } from '../test/container-engine.ts'
import { plainEnvironment } from '../test/contracts/environment.ts'
import { type CommandLine, trialRows } from './lib/container-trials.ts'
import { percentile, type Row } from './lib/rows.ts'

const rounds = 30
const turns = 100
const containers = 100
const startedAtOnce = 8
const owner = { job: 'bench', trial: 'docker' }

/** Containers through the engine's socket, compared with the engine's own command line on the same engine. */
export default {
  name: 'docker',
  run: async (): Promise<Row[]> => {
    const rows: Row[] = []
    for (const name of ['podman', 'docker'] as const) {
      const why = whyNotEngine(name) ?? (findProgram(name) === null ? `needs ${name}` : null)
      if (why === null) rows.push(...(await measure(name)))
      else process.stdout.write(`${name}: ${why}\n`)
    }
    return rows
  },
}

async function measure(name: 'docker' | 'podman'): Promise<Row[]> {
  const scratch = mkdtempSync(join(tmpdir(), 'ot-bench-'))
  const engine = await startEngine(name)
  try {
    await makeBase(engine.engine)
    const plugin = name === 'docker' ? docker : podman
    const options = plugin.options.parse({ socket: engine.socket, base: baseImage, buildNetwork: 'none' })
    const provider = plugin.make(options, { env: {}, stateDir: join(scratch, 'state') })
    const rows = [
      ...(await trialRows({ provider, cli: commandLine(engine), image: baseImage, scratch })),
      ...(await commands(provider, engine, scratch)),
      ...(await builds(provider, scratch)),
      ...(await starts(provider, scratch)),
    ]
    return rows.map((row) => ({ ...row, name: `${name}: ${row.name}` }))
  } finally {
    await engine.stop()
    rmSync(scratch, { recursive: true, force: true })
  }
}

async function commands(provider: SandboxProvider, engine: TestEngine, scratch: string): Promise<Row[]> {
  await using box = await provider.lease({ owner, environment: environment(scratch, 'plain', {}) })
  const container = `${box.id}-0`
  const cli = commandLine(engine)
  await box.exec(['echo', 'hello'])
  const [ours, theirs]: [number[], number[]] = [[], []]
  for (let i = 0; i < rounds; i++) {
    ours.push(await timed(() => box.exec(['echo', 'hello'])))
    theirs.push(
      await timed(() => promisify(execFile)(cli.program, ['exec', container, 'echo', 'hello'], { env: cli.env })),
    )
  }
  const [oursP50, theirsP50] = [percentile(ours, 0.5), percentile(theirs, 0.5)]
  const ratio = theirsP50 / oursP50
  const terminal = await terminalTurns(box)
  const cliTerminal = await cliTurns(cli, container)
  return [
    { name: 'command p50', value: oursP50, unit: 'ms' },
    { name: 'command p95', value: percentile(ours, 0.95), unit: 'ms' },
    { name: `the same with ${engine.name} exec p50`, value: theirsP50, unit: 'ms' },
    { name: 'times faster per command', value: ratio, unit: 'x', goal: 'at least 5', ok: ratio >= 5 },
    { name: 'terminal turn p50', value: percentile(terminal, 0.5), unit: 'ms' },
    { name: 'terminal turn p95', value: percentile(terminal, 0.95), unit: 'ms' },
    { name: `terminal turn in one ${engine.name} exec -i p50`, value: percentile(cliTerminal, 0.5), unit: 'ms' },
  ]
}

/** Terminal round trips: from writing some input to reading its echo. */
async function terminalTurns(box: SandboxLease): Promise<number[]> {
  const terminal = await box.openTerminal({ argv: ['cat'] })
  const times = await turnTimes(
    (listener) => void terminal.onData(listener),
    (text) => terminal.write(text),
  )
  await terminal.close()
  return times
}

/** The fastest possible exec through the command line: one that stays open, without a terminal in between. */
async function cliTurns({ program, env }: CommandLine, container: string): Promise<number[]> {
  const child = spawn(program, ['exec', '-i', container, 'cat'], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  const times = await turnTimes(
    (listener) => void child.stdout.setEncoding('utf8').on('data', listener),
    (text) => void child.stdin.write(text),
  )
  child.stdin.end()
  return times
}

async function turnTimes(
  listen: (listener: (chunk: string) => void) => void,
  type: (text: string) => void,
): Promise<number[]> {
  let [seen, wanted] = ['', '']
  let found = () => {}
  listen((chunk) => {
    seen += chunk
    if (wanted !== '' && seen.includes(wanted)) found()
  })
  const times: number[] = []
  for (let i = -1; i < turns; i++) {
    wanted = `<turn ${i}>`
    const ms = await timed(
      () =>
        new Promise<void>((resolve) => {
          found = resolve
          type(wanted)
        }),
    )
    // The first one waits until the program has started.
    if (i >= 0) times.push(ms)
    seen = ''
  }
  return times
}

async function builds(provider: SandboxProvider, scratch: string): Promise<Row[]> {
  let built = 0
  const log = (line: string) => {
    if (line.startsWith('building ')) built++
  }
  const ms = await timed(() =>
    Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        provider.prepare?.(
          environment(scratch, `task-${i}`, { Dockerfile: `FROM ${baseImage}\nRUN echo ${i % 3} > /made\n` }),
          {
            log,
          },
        ),
      ),
    ),
  )
  return [
    {
      name: 'builds for 50 tasks with 3 environments',
      value: built,
      unit: 'builds',
      goal: 'exactly 3',
      ok: built === 3,
    },
    { name: 'time of those', value: ms, unit: 'ms' },
  ]
}

async function starts(provider: SandboxProvider, scratch: string): Promise<Row[]> {
  const place = environment(scratch, 'many', {})
  const boxes: SandboxLease[] = []
  const many = Array.from({ length: containers }, (_, i) => i)
  const ms = await timed(async () => {
    const leases = mapInOrder(many, startedAtOnce, () => provider.lease({ owner, environment: place }))
    for await (const box of leases) boxes.push(box)
  })
  const gone = await timed(() => Promise.all(boxes.map((box) => box[Symbol.asyncDispose]())))
  return [
    {
      name: `containers started per second, ${containers} of them, ${startedAtOnce} at once`,
      value: (containers / ms) * 1000,
      unit: '/s',
    },
    { name: 'released per second', value: (containers / gone) * 1000, unit: '/s' },
  ]
}

function commandLine({ name, env }: TestEngine): CommandLine {
  return { program: findProgram(name) ?? name, env: { ...process.env, ...env } }
}

function environment(scratch: string, name: string, files: Readonly<Record<string, string>>) {
  const dir = join(scratch, name)
  mkdirSync(dir, { recursive: true })
  for (const [path, text] of Object.entries(files)) writeFileSync(join(dir, path), text)
  return plainEnvironment(dir)
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}
