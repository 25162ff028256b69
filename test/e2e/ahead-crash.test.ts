import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeTask } from '../fakes/tasks.ts'
import { scratch, withSandboxes } from './kit.ts'

const bin = resolve('bin/ot-agent.js')
const env = { PATH: process.env.PATH, HOME: scratch, XDG_CACHE_HOME: join(scratch, 'cache') }
const tasks = join(scratch, 'tasks')
const sandboxes = join(scratch, 'cache/ot-agent/local/sandboxes')

withSandboxes('a run whose model never answers', () => {
  let server: Server
  beforeAll(async () => {
    for (const name of ['a', 'b', 'c', 'd']) await writeTask(tasks, name)
    server = createServer((request, response) => {
      if (request.url?.endsWith('/models')) response.end(JSON.stringify({ object: 'list', data: [{ id: 'm' }] }))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  const start = (name: string): ChildProcess => {
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
    const what = ['run', '-p', tasks, '-a', 'terminus-2', '-m', 'm', '--api-base', base, '--job-name', name]
    const how = ['-n', '1', '--prefetch', '2', '--max-cpus', '99', '--max-memory-mb', '999999', '-q']
    return spawn(process.execPath, [bin, ...what, ...how, '-o', join(scratch, 'jobs')], { env, stdio: 'ignore' })
  }
  const there = () => (existsSync(sandboxes) ? readdirSync(sandboxes) : [])

  test('has the sandboxes of the next trials ready; killed with -9, clean finds them all', async () => {
    const child = start('killed')
    while (there().length < 3 && child.exitCode === null) await wait(20)
    expect(there()).toHaveLength(3)
    child.kill('SIGKILL')
    await once(child, 'exit')
    const cleaned = spawnSync(process.execPath, [bin, 'clean', '--json'], { env, encoding: 'utf8' })
    expect(JSON.parse(cleaned.stdout).reaped).toHaveLength(3)
    expect(there()).toEqual([])
  })

  test('gives them back by itself when it is asked to stop', async () => {
    const child = start('stopped')
    while (there().length < 3 && child.exitCode === null) await wait(20)
    child.kill('SIGTERM')
    expect((await once(child, 'exit'))[0]).toBe(130)
    expect(there()).toEqual([])
  })

  test('builds nothing and writes nothing with --plan', () => {
    const words = ['run', '-p', tasks, '-k', '2', '--plan', '--json', '-o', join(scratch, 'no-jobs')]
    const { status, stdout } = spawnSync(process.execPath, [bin, ...words], { env, encoding: 'utf8' })
    expect(status).toBe(0)
    const images = [{ kind: 'none', image: null, exists: null, tasks: ['a', 'b', 'c', 'd'] }]
    expect(JSON.parse(stdout)).toMatchObject({ schema: 'plan/1', sandbox: 'local', trials: 8, images, unmet: [] })
    expect(existsSync(join(scratch, 'no-jobs'))).toBe(false)
  })
})
