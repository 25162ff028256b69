import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Row } from './lib/rows.ts'

const attempts = Number(process.env.REPLAY_ATTEMPTS ?? 15)
const goalSec = 120

/**
 * Runs the example tasks several times with terminus-2 and a stand-in, exports the job and replays every row of the
 * dataset.
 */
export default {
  name: 'replay',
  run: async (): Promise<Row[]> => {
    const scratch = mkdtempSync(join(tmpdir(), 'ot-bench-'))
    try {
      const tasks = resolve('examples/tasks')
      const teacher = [
        '-a',
        'terminus-2',
        '-m',
        'scripted/x',
        '--engine',
        'scripted',
        '--engine-kwarg',
        `tasks=${tasks}`,
      ]
      const where = [
        '-e',
        'local',
        '-o',
        scratch,
        '--job-name',
        'job',
        '-n',
        '2',
        '-k',
        String(attempts),
        '--yes',
        '-q',
      ]
      await otAgent(['run', '-p', tasks, ...teacher, ...where])
      const dataset = join(scratch, 'dataset')
      await otAgent(['traces', 'export', '-p', join(scratch, 'job'), '--out', dataset])
      const start = performance.now()
      const said = await otAgent(['traces', 'replay', dataset, '--tasks', tasks, '-n', '2', '-q', '--json'])
      const sec = (performance.now() - start) / 1000
      const { counts } = JSON.parse(said)
      const per200 = (sec / counts.rows) * 200
      return [
        { name: 'rows replayed, two trials at once', value: counts.rows, unit: 'rows' },
        { name: 'of these hold', value: counts.holds, unit: 'rows', goal: 'all', ok: counts.holds === counts.rows },
        { name: 'time of 200 rows', value: per200, unit: 's', goal: `under ${goalSec}`, ok: per200 < goalSec },
      ]
    } finally {
      rmSync(scratch, { recursive: true, force: true })
    }
  },
}

/** The command's output; a row that fails to replay is a measurement, not an error. */
async function otAgent(argv: readonly string[]): Promise<string> {
  const run = promisify(execFile)(process.execPath, ['bin/ot-agent.js', ...argv], { maxBuffer: 1 << 28 })
  const { stdout } = await run.catch((error: { code?: unknown; stdout?: string; stderr?: string }) => {
    if (error.code === 3 && error.stdout !== undefined) return { stdout: error.stdout }
    throw new Error(error.stderr ?? String(error))
  })
  return stdout
}
