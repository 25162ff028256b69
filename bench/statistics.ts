import { makeRandom } from '../src/lib/random.ts'
import { pairedBootstrap } from '../src/stats/bootstrap.ts'
import { pairsOf } from '../src/stats/paired.ts'
import { comparePaired } from '../src/stats/verdict.ts'
import { betaRates, makeSimulation } from '../test/simulated-runs.ts'
import { percentile, type Row } from './lib/rows.ts'

const goalMs = 200

/** Statistics of two runs with 5 attempts at each of 500 tasks. */
export default {
  name: 'statistics',
  run: async (): Promise<Row[]> => {
    const simulation = makeSimulation(1)
    const tasks = simulation.tasks(500)
    const run = (rate: number) => simulation.run(tasks, betaRates(rate, 0.7), 5)
    const [first, second] = [run(0.4), run(0.42)]
    const bootstrap = medianMs(() => {
      const differences = pairsOf(first, second).map((pair) => pair.first - pair.second)
      pairedBootstrap(differences, makeRandom(1, 'bench').next, 10_000)
    })
    const compared = medianMs(() => comparePaired(first, second, makeRandom(1, 'bench').next))
    return [
      {
        name: 'paired bootstrap, 10,000 draws, 500 tasks x 5, p50',
        value: bootstrap,
        unit: 'ms',
        goal: String(goalMs),
        ok: bootstrap <= goalMs,
      },
      { name: 'interval and sign-flip test, 500 tasks x 5, p50', value: compared, unit: 'ms' },
    ]
  },
}

function medianMs(work: () => void): number {
  const times = Array.from({ length: 9 }, () => {
    const start = performance.now()
    work()
    return performance.now() - start
  })
  return percentile(times, 0.5)
}
