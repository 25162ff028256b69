import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import miniSweAgent from '../../src/agents/mini-swe-agent.ts'
import scripted from '../../src/engines/scripted/index.ts'
import { playTrial, scratch, stateDir, withSandboxes } from '../e2e/kit.ts'
import { agentConfig } from '../fakes/configs.ts'
import { writeTask } from '../fakes/tasks.ts'
import { needs } from '../needs.ts'
import { parseTrajectory } from '../parse-trajectory.ts'

const toml = 'schema_version = "1.2"\n[environment]\nallow_internet = false\n'
const name = 'mini-swe-agent'

withSandboxes('agents from PyPI', suite, needs('python3', 'flock').meta.skipReason ?? unreachable())

function suite() {
  test('mini-swe-agent solves a task without network and is recorded whole', async () => {
    const tasks = join(scratch, 'tasks')
    await writeTask(tasks, 'answer', { toml })
    const engine = scripted.make(scripted.options.parse({ tasks: [tasks] }), { env: {}, stateDir })
    // Kept between runs, like a user's own cache: it is 700 MB.
    const context = { env: {}, stateDir: resolve('node_modules/.cache/ot-agent') }
    const agent = miniSweAgent.make(miniSweAgent.options.parse({}), context)
    const config = { agent: agentConfig({ name, modelName: 'scripted', overrideTimeoutSec: 120 }) }
    const { record, dir } = await playTrial({ agent, client: engine.client('scripted'), config, task: { toml } })
    const output = join(dir, `agent/${name}.txt`)
    const log = existsSync(output) ? readFileSync(output, 'utf8') : readFileSync(join(dir, 'trial.log'), 'utf8')
    expect(record.end, log.slice(-3000)).toMatchObject({ rewards: { reward: 1 }, exit: { kind: 'finished' } })
    const { steps } = parseTrajectory(readFileSync(join(dir, 'agent/trajectory.json'), 'utf8'))
    expect(steps.filter(({ source }) => source === 'agent')[0]?.tool_calls).toHaveLength(1)
    expect(record.usage?.inputTokens).toBeGreaterThan(0)
  })
}

/** Why nothing can be installed, or null. */
function unreachable(): string | null {
  const asked = ['-m', 'pip', 'download', '--quiet', '--no-deps', '-d', scratch, 'mini-swe-agent==2.4.6']
  const { status } = spawnSync('python3', asked, { timeout: 60_000, stdio: 'ignore' })
  return status === 0 ? null : 'needs python3 with pip and the Python Package Index'
}
