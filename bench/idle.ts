import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SandboxLease, Terminal } from '../src/core/sandbox.ts'
import local from '../src/sandboxes/local/index.ts'
import { plainEnvironment } from '../test/contracts/environment.ts'
import { percentile, type Row } from './lib/rows.ts'

const count = 1000
const atOnce = 4

/** A thousand idle sandboxes held at once, each with a responsive open terminal. */
export default {
  name: 'idle',
  run: async (): Promise<Row[]> => {
    const scratch = mkdtempSync(join(tmpdir(), 'ot-bench-'))
    mkdirSync(join(scratch, 'environment'))
    const provider = local.make({ pids: 64, verify: 'fresh' }, { env: {}, stateDir: join(scratch, 'state') })
    const owner = { job: 'bench', trial: 'idle' }
    const open = async (): Promise<Held> => {
      const lease = await provider.lease({ owner, environment: plainEnvironment(join(scratch, 'environment')) })
      return { lease, terminal: await lease.openTerminal({ cols: 80, rows: 24 }) }
    }
    const first = await open()
    await ask(first.terminal)
    const before = usedMb()
    const start = performance.now()
    const held = await inParallel(count - 1, open)
    const openedSec = (performance.now() - start) / 1000
    const answers: number[] = []
    for (const { terminal } of held) answers.push(await ask(terminal))
    const perSandbox = (usedMb() - before) / held.length
    const shellMb = shellMemoryMb()
    const closing = performance.now()
    await Promise.all([first, ...held].map(({ lease }) => lease[Symbol.asyncDispose]()))
    const closedSec = (performance.now() - closing) / 1000
    rmSync(scratch, { recursive: true, force: true })
    return [
      { name: 'sandboxes held with an open terminal', value: held.length + 1, unit: '' },
      { name: 'terminals that answered', value: answers.length + 1, unit: '' },
      { name: 'answer p50', value: percentile(answers, 0.5), unit: 'ms' },
      { name: 'answer p95', value: percentile(answers, 0.95), unit: 'ms' },
      { name: 'started per second', value: held.length / openedSec, unit: '/s' },
      { name: 'memory per sandbox, all in', value: perSandbox, unit: 'MiB' },
      { name: 'of that the shell (its private pages)', value: shellMb, unit: 'MiB' },
      {
        name: 'memory beside the shell',
        value: perSandbox - shellMb,
        unit: 'MiB',
        goal: 'at most 4',
        ok: perSandbox - shellMb <= 4,
      },
      { name: 'all released in', value: closedSec, unit: 's' },
    ]
  },
}

interface Held {
  readonly lease: SandboxLease
  readonly terminal: Terminal
}

async function inParallel<T>(times: number, work: () => Promise<T>): Promise<T[]> {
  const results: T[] = []
  let left = times
  const worker = async () => {
    while (left-- > 0) results.push(await work())
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return results
}

let questions = 0
/** Types a sum and waits for the answer on the screen. */
async function ask(terminal: Terminal): Promise<number> {
  const n = ++questions
  const start = performance.now()
  await new Promise<void>((resolve) => {
    let seen = ''
    const stop = terminal.onData((chunk) => {
      seen += chunk
      if (!seen.includes(`=${n + 1000}=`)) return
      stop()
      resolve()
    })
    terminal.write(`echo =$((${n} + 1000))=\n`)
  })
  return performance.now() - start
}

/** Memory used by the whole machine, minus what it could free. */
function usedMb(): number {
  const info = readFileSync('/proc/meminfo', 'utf8')
  const kb = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(info)?.[1])
  return (kb('MemTotal') - kb('MemAvailable')) / 1024
}

/** The cost of one login bash by itself: the private pages of one on the host. */
function shellMemoryMb(): number {
  const rollup = execFileSync('bash', ['--login', '-c', 'cat /proc/$$/smaps_rollup; true'], { encoding: 'utf8' })
  const kb = [...rollup.matchAll(/^Private_\w+:\s+(\d+) kB/gm)].reduce((sum, match) => sum + Number(match[1]), 0)
  return kb / 1024
}
