import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import type { SandboxLease, Terminal } from '../../src/core/sandbox.ts'
import local from '../../src/sandboxes/local/index.ts'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { plainEnvironment } from '../contracts/environment.ts'
import { writeTask } from '../fakes/tasks.ts'

const scratch = mkdtempSync(join(tmpdir(), 'ot-scale-'))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

describe.skipIf(missingPrograms().length > 0)('many at once (needs bubblewrap)', () => {
  test('64 trials sixteen at a time in the packed layout are all there, and come back as directories', async () => {
    const cache = join(scratch, 'cache')
    const task = await writeTask(scratch, 'trivial')
    const ot = (...args: string[]) =>
      spawnSync(process.execPath, [resolve('bin/ot-agent.js'), ...args], {
        encoding: 'utf8',
        env: { ...process.env, XDG_CACHE_HOME: cache },
      })
    const line = [
      '-a',
      'oracle',
      '-e',
      'local',
      '-n',
      '16',
      '-k',
      '64',
      '-o',
      join(scratch, 'jobs'),
      '--job-name',
      'many',
    ]
    const ran = ot('run', '-p', task, ...line, '--store', 'packed', '--json')
    expect(ran.status, ran.stderr).toBe(0)
    expect(JSON.parse(ran.stdout)).toMatchObject({ finished: true, ends: { trials: 64, scored: 64 } })
    const job = join(scratch, 'jobs/many')
    const files = readdirSync(job, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    expect(files.length, files.map(({ name }) => name).join(' ')).toBeLessThan(12)
    const unpacked = ot('jobs', 'unpack', job)
    expect(unpacked.status, unpacked.stderr).toBe(0)
    const results = readdirSync(job).filter((name) => existsSync(join(job, name, 'result.json')))
    expect(results.length).toBe(64)
    expect(readdirSync(join(cache, 'ot-agent/local/sandboxes'))).toEqual([])
  })

  test('200 sandboxes with a terminal each all answer, and leave no process, open file or directory', async () => {
    mkdirSync(join(scratch, 'environment'))
    const stateDir = join(scratch, 'state')
    const provider = local.make({ pids: 64, verify: 'fresh' }, { env: {}, stateDir })
    const request = {
      owner: { job: 'scale', trial: 'idle' },
      environment: plainEnvironment(join(scratch, 'environment')),
    }
    const open = async () => {
      const lease = await provider.lease(request)
      return { lease, terminal: await lease.openTerminal() }
    }
    await close([await open()])
    const before = resources()
    const held: { lease: SandboxLease; terminal: Terminal }[] = []
    for (let i = 0; i < 50; i++) held.push(...(await Promise.all([open(), open(), open(), open()])))
    const answers = await Promise.all(held.map(({ terminal }, i) => sum(terminal, i)))
    expect(answers).toEqual(held.map((_, i) => i + 1000))
    await close(held)
    expect(resources()).toEqual(before)
    expect(readdirSync(join(stateDir, 'local/sandboxes'))).toEqual([])
  })
})

async function close(held: readonly { lease: SandboxLease; terminal: Terminal }[]): Promise<void> {
  await Promise.all(held.map(({ lease }) => lease[Symbol.asyncDispose]()))
  await Promise.all(held.map(({ terminal }) => terminal.exited))
}

/** Types a sum and reads the answer off the screen. */
function sum(terminal: Terminal, n: number): Promise<number> {
  return new Promise((done) => {
    let seen = ''
    terminal.onData((chunk) => {
      seen += chunk
      const answer = /=(\d+)=/.exec(seen)?.[1]
      if (answer !== undefined) done(Number(answer))
    })
    terminal.write(`echo =$((${n} + 1000))=\n`)
  })
}

function resources() {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim().split(' ').filter(Boolean)
  const ptys = execFileSync('sh', ['-c', `ls -l /proc/${process.pid}/fd | grep -c ptmx || true`], { encoding: 'utf8' })
  return { children: children.length, ptys: Number(ptys) }
}
