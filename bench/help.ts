import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const runs = 20
const goalMs = 150

/** CPU time of `ot-agent --help`, compared with a Node that does nothing. */
export default {
  name: 'help',
  async run() {
    const dir = mkdtempSync(join(tmpdir(), 'ot-agent-bench-'))
    try {
      writeFileSync(join(dir, 'report.cjs'), reportCpu)
      writeFileSync(join(dir, 'empty.mjs'), '')
      const bare = medianCpuMs(dir, [join(dir, 'empty.mjs')])
      const help = medianCpuMs(dir, [resolve('bin/ot-agent.js'), '--help'])
      return [
        { name: 'bare node, CPU p50', value: bare, unit: 'ms' },
        { name: 'ot-agent --help, CPU p50', value: help, unit: 'ms', goal: goalMs, ok: help <= goalMs },
        { name: 'ratio', value: help / bare, unit: 'x' },
      ]
    } finally {
      rmSync(dir, { recursive: true })
    }
  },
}

/** Loaded into both programs: writes user and system time to file descriptor 3 as the process exits. */
const reportCpu = `process.on('exit', () => {
  const { user, system } = process.cpuUsage()
  require('node:fs').writeSync(3, String((user + system) / 1000))
})`

function medianCpuMs(dir: string, argv: readonly string[]): number {
  const times = Array.from({ length: runs }, () => cpuMs(dir, argv)).sort((a, b) => a - b)
  return times[Math.floor(runs / 2)] ?? Number.NaN
}

function cpuMs(dir: string, argv: readonly string[]): number {
  const done = spawnSync(process.execPath, ['--require', join(dir, 'report.cjs'), ...argv], {
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
    encoding: 'utf8',
  })
  if (done.status !== 0) throw new Error(`node ${argv.join(' ')} ended with ${done.status ?? done.signal}`)
  return Number(done.output[3])
}
