import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { evaluationName } from '../../src/app/registry/evaluate-by-command.ts'
import { registerModel } from '../../src/registry/entities.ts'
import { openRegistry } from '../../src/registry/open.ts'
import { sql } from '../../src/registry/sql.ts'
import { passingSolve, writeTask } from '../fakes/tasks.ts'
import { until } from '../slurm-cluster.ts'
import { scratch, withSandboxes } from './kit.ts'

const program = resolve('bin/ot-agent.js')
const place = join(scratch, 'listen')
const tasks = join(place, 'tasks')
const started: ChildProcess[] = []

beforeAll(async () => {
  mkdirSync(place, { recursive: true })
  for (const name of ['one', 'two']) await writeTask(tasks, name, { solve: passingSolve })
  const serve = `${process.execPath} ${program} serve --engine scripted --tasks ${tasks} --quiet --no-key`
  // A worker that outlives its server, as some do.
  const script = `echo $$ >> ${place}/servers; setsid sleep 1000 & echo $! >> ${place}/workers; exec ${serve} -m "$@"`
  const file = (before: string) => ({
    engine: { type: 'vllm_local', model: 'any', vllm_local: { endpoint_json: join(place, 'unused.json') } },
    backend: { type: 'vllm', healthcheck_max_attempts: 500, healthcheck_retry_delay: 0.2 },
    vllm_server: { command: ['bash', '-c', `${before}${script}`, 'server', '{model}'], model_path: 'any' },
  })
  writeFileSync(join(place, 'engine.json'), JSON.stringify(file('')))
  // One that starts only when the test lets it.
  const wait = `echo $$ >> ${place}/waiting; until [ -e ${place}/go ]; do sleep 0.1; done; `
  writeFileSync(join(place, 'waiting-engine.json'), JSON.stringify(file(wait)))
})

afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
})

/** A registry with one trained model. */
async function registryWith(name: string, model: string): Promise<string> {
  const registry = join(place, `${name}.db`)
  await using database = await openRegistry(registry)
  await database.transaction(async (queries) => {
    await registerModel(queries, model, false)
    await queries.run(sql`UPDATE models SET training_status = 'finished'`)
  })
  return registry
}

function ot(registry: string, ...words: string[]) {
  const env = { ...process.env, XDG_CACHE_HOME: join(scratch, 'cache'), OT_AGENT_REGISTRY: registry }
  const child = spawn(process.execPath, [program, ...words], { cwd: place, env, stdio: ['ignore', 'pipe', 'pipe'] })
  started.push(child)
  let said = ''
  child.stderr.on('data', (chunk) => {
    said += chunk
  })
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return {
    child,
    says: (words: string) => said.includes(words),
    ended: ended.then(([stdout, stderr, [status]]) => ({ status, stdout, stderr })),
  }
}

const listen = (registry: string, ...words: string[]) =>
  ot(registry, 'eval', 'listen', '--benchmark', 'words@1', '--once', '--max-attempts', '2', '--poll-sec', '1', ...words)

/** Acts as if the killed listener had been silent for longer than its lease. */
async function expireLeases(registry: string): Promise<void> {
  await using database = await openRegistry(registry)
  await database.run(sql`UPDATE evaluation_leases SET leased_until = '2000-01-01T00:00:00.000000Z'`)
}

function launchFile(name: string, engine: string): string {
  const settings = { cluster: 'local', eval_benchmark: tasks, eval_n_attempts: 1 }
  writeFileSync(join(place, name), JSON.stringify({ ...settings, datagen_config: join(place, engine) }))
  return join(place, name)
}

const pidsIn = (name: string) =>
  existsSync(join(place, name)) ? readFileSync(join(place, name), 'utf8').trim().split('\n').map(Number) : []
const isAlive = (pid: number) => {
  try {
    // A zombie has ended too, even if nothing waits for it.
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0] !== 'Z'
  } catch {
    return false
  }
}

withSandboxes('a listener that evaluates by itself', () => {
  test('runs a model here on a server that it starts, registers the result and stops the server', async () => {
    const registry = await registryWith('here', 'org/one')
    const server = ['--here', '--server', join(place, 'engine.json')]
    const { status, stdout, stderr } = await listen(registry, ...server, '--', '-p', tasks, '-a', 'terminus-2').ended
    expect({ status, stdout }, stderr).toEqual({ status: 0, stdout: '1 done, 0 running, 0 waiting, 0 failed\n' })
    expect(stderr).toContain('org/one: 100.0 %')
    expect(
      existsSync(join(place, 'jobs', evaluationName({ benchmark: 'words@1', model: 'org/one' }), 'result.json')),
    ).toBe(true)
    expect([...pidsIn('servers'), ...pidsIn('workers')].some(isAlive)).toBe(false)
  })

  /** A listener that was killed while its server ran; `left` is one of the server's processes. */
  async function killedWithServer(registry: string) {
    const before = pidsIn('workers').length
    const server = ['--here', '--server', join(place, 'engine.json')]
    const { child, ended } = listen(registry, ...server, '--', '-p', tasks, '-a', 'terminus-2')
    await until('the server', () => pidsIn('workers').length > before, 60)
    child.kill('SIGKILL')
    await ended
    const left = pidsIn('workers').at(-1) ?? 0
    expect(isAlive(left)).toBe(true)
    return { child, left, server }
  }

  test('what it leaves running when it is killed is stopped by clean', async () => {
    const registry = await registryWith('killed', 'org/two')
    const { child, left } = await killedWithServer(registry)
    const seen = JSON.parse((await ot(registry, 'clean', '--dry-run', '--json').ended).stdout).servers
    expect(seen).toMatchObject([{ name: 'bash', ownerPid: child.pid }])
    expect(seen[0].pids).toContain(left)
    const { stdout } = await ot(registry, 'clean').ended
    expect(stdout).toContain(`stopped the model server bash of process ${child.pid}, which has died`)
    expect(isAlive(left)).toBe(false)
    expect(pidsIn('servers').some(isAlive)).toBe(false)
    expect(JSON.parse((await ot(registry, 'clean', '--json').ended).stdout).servers).toEqual([])
  })

  test('what it leaves running when it is killed is stopped by the next listener', async () => {
    const registry = await registryWith('orphaned', 'org/four')
    const { child, left, server } = await killedWithServer(registry)
    // Run one that has nothing to evaluate: the dead one still holds the model's lease for a while.
    const next = await listen(registry, ...server, '--', '-p', tasks, '-a', 'terminus-2').ended
    expect(next.stderr).toContain(`stopped the server bash that process ${child.pid} left`)
    expect(next.stdout).toBe('0 done, 1 running, 0 waiting, 0 failed\n')
    expect([...pidsIn('servers'), left].some(isAlive)).toBe(false)
  })

  test('launches a model, follows the launch, and its server ends', async () => {
    const registry = await registryWith('launched', 'org/three')
    const { status, stdout, stderr } = await listen(registry, '--launch', launchFile('launch.json', 'engine.json'))
      .ended
    expect({ status, stdout }, stderr).toEqual({ status: 0, stdout: '1 done, 0 running, 0 waiting, 0 failed\n' })
    expect(stderr).toContain('org/three: 100.0 %')
    expect([...pidsIn('servers'), ...pidsIn('workers')].some(isAlive)).toBe(false)
  })

  test('a launch of a killed listener is followed by the next one, not repeated', async () => {
    const registry = await registryWith('adopted', 'org/five')
    const file = launchFile('waiting-launch.json', 'waiting-engine.json')
    const before = pidsIn('servers').length
    const words = ['--launch', file, '--experiments-dir', join(place, 'adopted')]
    const first = listen(registry, ...words)
    await until('the server of the launch', () => pidsIn('waiting').length > 0, 60)
    first.child.kill('SIGKILL')
    await first.ended
    await expireLeases(registry)
    const second = listen(registry, ...words)
    await until('the second listener', () => second.says('which another listener left running'), 60)
    writeFileSync(join(place, 'go'), '')
    const { status, stdout, stderr } = await second.ended
    expect({ status, stdout }, stderr).toEqual({ status: 0, stdout: '1 done, 0 running, 0 waiting, 0 failed\n' })
    expect(stderr).toContain('org/five: attempt 2')
    expect(stderr).toContain('org/five: 100.0 %')
    expect(pidsIn('waiting')).toHaveLength(1)
    expect(pidsIn('servers')).toHaveLength(before + 1)
    expect([...pidsIn('servers'), ...pidsIn('workers')].some(isAlive)).toBe(false)
  })
})
