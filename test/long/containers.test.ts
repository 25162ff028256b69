import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import oracle from '../../src/agents/oracle.ts'
import terminus2 from '../../src/agents/terminus-2/index.ts'
import type { Agent } from '../../src/core/agent.ts'
import type { SandboxProvider } from '../../src/core/sandbox.ts'
import scripted from '../../src/engines/scripted/index.ts'
import { loadTask } from '../../src/formats/harbor-task/load.ts'
import { runTrial } from '../../src/run/trial.ts'
import local from '../../src/sandboxes/local/index.ts'
import { baseImage, type TestEngine, withBaseFiles } from '../container-engine.ts'
import { everything, makeHoldProgram, onEachEngine } from '../container-kit.ts'
import { plainEnvironment } from '../contracts/environment.ts'
import { alternatives } from '../e2e/kit.ts'
import { agentConfig, trialConfig } from '../fakes/configs.ts'
import { startRegistry } from '../fakes/registry.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-containers-'))
const context = { env: {}, stateDir: join(scratch, 'state') }
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** All example tasks except the one that needs git, which is more than a program with libraries. */
const tasks = readdirSync('examples/tasks').filter((name) => name !== 'git-purge-secret')
const more =
  'comm join paste nl tac cksum md5sum sha1sum fold split csplit rev column expand tsort shuf bzip2 xz perl make mawk egrep zcat gunzip zgrep'.split(
    ' ',
  )

onEachEngine(
  context.stateDir,
  ({ started, makeProvider }) => {
    test('a prebuilt image is pulled once and runs unchanged; an unknown name is reported', async () => {
      const settings = { Env: ['PATH=/usr/bin', 'FLAVOUR=ready'], WorkingDir: '/srv' }
      await using registry = await startRegistry(await withBaseFiles([], buffer), settings)
      const lease = (dockerImage: string) =>
        makeProvider({ base: undefined }).lease({
          owner: { job: 'containers', trial: 'ready' },
          environment: plainEnvironment(scratch, { dockerImage }),
        })
      for (const _ of ['pulled', 'there']) {
        await using box = await lease(registry.image)
        expect((await box.exec(['sh', '-c', 'echo $FLAVOUR; pwd'])).stdout).toBe('ready\n/srv\n')
      }
      expect(registry.asked.filter((path) => path.includes('/blobs/')).length).toBe(2)
      await expect(lease(`${registry.address}/ot-agent/other:one`)).rejects.toMatchObject({ code: 'ImagePullError' })
      expect(await everything(started())).toEqual([])
    })

    test.each(['oracle', 'terminus-2'])(
      `%s gets the same rewards as in local sandboxes, on ${tasks.length} tasks`,
      async (agent) => {
        const here = local.make(local.options.parse({}), context)
        const [theirs, ours] = [await rewardsIn(makeProvider(), agent), await rewardsIn(here, agent)]
        expect(theirs).toEqual(ours)
        expect(Object.values(ours)).toEqual(tasks.map(() => expect.objectContaining({ reward: 1 })))
        expect(await everything(started())).toEqual([])
      },
    )

    // Last, because an engine may finish a dead process's request while the next test counts what is left.
    test.each(['building', 'creating', 'running', 'freezing'])(
      'a process killed while %s leaves nothing that a cleaning does not find',
      async (phase) => {
        await killedWhile(phase, started())
        // An engine may still be working on the dead process's last request; then the next cleanup finds the result.
        const left = async () => {
          await makeProvider().reap()
          return everything(started())
        }
        await expect.poll(left, { interval: 500 }).toEqual([])
      },
    )
  },
  more,
)

async function killedWhile(phase: string, { name, socket }: TestEngine): Promise<void> {
  const dir = join(scratch, `${name}-${phase}`)
  mkdirSync(dir)
  if (phase === 'building') writeFileSync(join(dir, 'Dockerfile'), 'FROM debian:12\nRUN sleep 20\n')
  const program = await makeHoldProgram(scratch)
  const child = spawn(process.execPath, [program, name, socket, baseImage, context.stateDir, dir, phase], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exit = once(child, 'exit')
  const wanted = phase === 'building' ? /RUN|STEP/ : /at it/
  let said = ''
  for await (const chunk of child.stdout.setEncoding('utf8')) {
    said += String(chunk)
    if (wanted.test(said)) break
  }
  await wait(phase === 'freezing' || phase === 'creating' ? 400 + Math.random() * 1500 : 300)
  child.kill('SIGKILL')
  const [code, signal] = await exit
  expect({ code, signal }, said).toEqual({ code: null, signal: 'SIGKILL' })
}

async function rewardsIn(provider: SandboxProvider, name: string): Promise<Record<string, unknown>> {
  const engine = scripted.make(scripted.options.parse({ tasks: resolve('examples/tasks') }), context)
  const ended: Record<string, unknown> = {}
  for (const path of tasks) {
    const agent: Agent =
      name === 'oracle' ? oracle.make({}, context) : terminus2.make(terminus2.options.parse({}), context)
    const task = await loadTask(resolve('examples/tasks', path))
    const record = await runTrial({
      task,
      agent,
      client: name === 'oracle' ? null : engine.client('scripted'),
      provider,
      config: trialConfig({ trialName: `${path}__${name}`, agent: agentConfig({ name, modelName: 'scripted' }) }),
      jobName: 'containers',
      attempt: 0,
      retries: 0,
      dir: join(scratch, provider.name, name, path),
      signal: new AbortController().signal,
      hooks: [],
      hostEnv: {},
      alternatives,
    })
    ended[path] = record.end.kind === 'scored' ? record.end.rewards : record.end
  }
  return ended
}
