import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The cost of one of our processes, from start to end. */
export interface Cost {
  /** Its command line. */
  readonly words: string
  readonly fromMs: number
  readonly toMs: number
  readonly cpuSec: number
  readonly rssMb: number
  /** Bytes read by system calls, from disk or from memory. */
  readonly readBytes: number
}

/**
 * A module for `node --import`: each process writes its cost into the folder in OT_BENCH_COSTS when it ends. A parent's
 * cost includes its children's.
 */
export const costHook = `import { readFileSync, writeFileSync } from 'node:fs'
const fromMs = Date.now()
process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage()
  const ticks = readFileSync('/proc/self/stat', 'utf8').replace(/^.*\\) /s, '').split(' ')
  const children = (Number(ticks[13]) + Number(ticks[14])) / 100
  const readBytes = Number(/^rchar: (\\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
  const cost = {
    words: process.argv.slice(2).join(' '), fromMs, toMs: Date.now(), rssMb: maxRSS / 1024, readBytes,
    cpuSec: (userCPUTime + systemCPUTime) / 1e6 + children,
  }
  if (process.env.OT_BENCH_COSTS && cost.words !== '')
    writeFileSync(process.env.OT_BENCH_COSTS + '/' + fromMs + '-' + process.pid + '.json', JSON.stringify(cost))
})
`

/** All costs in a folder, ordered by process start. */
export function costsIn(dir: string): readonly Cost[] {
  return readdirSync(dir)
    .sort()
    .map((name) => JSON.parse(readFileSync(join(dir, name), 'utf8')))
}

/** Several costs combined: from the first start to the last end. */
export function sumOf(costs: readonly Cost[]) {
  const add = (of: (cost: Cost) => number) => costs.reduce((sum, cost) => sum + of(cost), 0)
  return {
    sec: (Math.max(...costs.map(({ toMs }) => toMs)) - Math.min(...costs.map(({ fromMs }) => fromMs))) / 1000,
    cpuSec: add(({ cpuSec }) => cpuSec),
    readBytes: add(({ readBytes }) => readBytes),
  }
}
