import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SandboxLease, Terminal } from '../src/core/sandbox.ts'
import local from '../src/sandboxes/local/index.ts'
import { plainEnvironment } from '../test/contracts/environment.ts'
import type { Row } from './lib/rows.ts'

const count = Number(process.env.OT_BENCH_TERMINALS ?? 1000)

/**
 * A thousand sandboxes with a live terminal each, all requested at once: time until the first one responds, and the
 * last.
 */
export default {
  name: 'terminals',
  run: async (): Promise<Row[]> => {
    const stateDir = mkdtempSync(join(tmpdir(), 'ot-bench-'))
    const environment = plainEnvironment(join(stateDir, 'environment'))
    mkdirSync(environment.dir)
    const provider = local.make(local.options.parse({ pids: 64 }), { env: {}, stateDir })
    const lease = (trial: string) => provider.lease({ owner: { job: 'bench', trial }, environment })
    // The first one builds what all of them share.
    await (await lease('first'))[Symbol.asyncDispose]()
    const begin = performance.now()
    const answeredMs: number[] = []
    const boxes = await Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const box = await lease(String(i))
        const terminal = await box.openTerminal()
        await answers(terminal)
        answeredMs.push(performance.now() - begin)
        return { box, terminal }
      }),
    )
    const startedMs = performance.now() - begin
    const stopping = performance.now()
    await Promise.all(boxes.map(stop))
    const stoppedMs = performance.now() - stopping
    rmSync(stateDir, { recursive: true, force: true })
    return rowsOf({ firstMs: Math.min(...answeredMs), startedMs, stoppedMs })
  },
}

/** Waits until a terminal's shell has executed a line. */
async function answers(terminal: Terminal): Promise<void> {
  let seen = ''
  const target = new EventTarget()
  const stop = terminal.onData((text) => {
    seen += text
    if (seen.includes('sum=42')) target.dispatchEvent(new Event('answer'))
  })
  const answered = once(target, 'answer')
  terminal.write('echo sum=$((40+2))\r')
  await answered
  stop()
}

async function stop({ box, terminal }: { box: SandboxLease; terminal: Terminal }): Promise<void> {
  await terminal.close()
  await box[Symbol.asyncDispose]()
}

function rowsOf({ firstMs, startedMs, stoppedMs }: Record<'firstMs' | 'startedMs' | 'stoppedMs', number>): Row[] {
  const sec = (name: string, ms: number, limit: number): Row => ({
    name: `${count} terminals: ${name}`,
    value: ms / 1000,
    unit: 's',
    goal: `at most ${limit}`,
    ok: ms <= limit * 1000,
  })
  return [sec('the first answers', firstMs, 1), sec('all have answered', startedMs, 15), sec('stopped', stoppedMs, 10)]
}
