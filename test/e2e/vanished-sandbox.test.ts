import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { signalProcess } from '../../src/lib/spawn-process.ts'
import { loadLease } from '../../src/sandboxes/namespaces/lease-file.ts'
import { agentThat, solver } from '../fakes/agents.ts'
import { playTrial, stateDir, withSandboxes } from './kit.ts'

const sandboxes = join(stateDir, 'local/sandboxes')
const dirs = () => (existsSync(sandboxes) ? readdirSync(sandboxes).map((id) => join(sandboxes, id)) : [])

/** What another process may do to a sandbox. */
const ways = {
  'its files are removed': (dir: string) => rmSync(dir, { recursive: true, force: true }),
  'its processes are killed': (dir: string) => {
    const first = loadLease(dir)?.holder?.pid
    if (first !== undefined) signalProcess(first, 'SIGKILL')
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
      if (sees(pid, basename(dir))) signalProcess(Number(pid), 'SIGKILL')
  },
}

function sees(pid: string, sandbox: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/mountinfo`, 'utf8').includes(sandbox)
  } catch {
    return false
  }
}

let stop = () => {}
afterEach(() => stop())

/** Calls `work` with the sandbox's directory once a file appears in it. */
function once(file: string, work: (dir: string) => void): void {
  const timer = setInterval(() => {
    const dir = dirs().find((dir) => existsSync(join(dir, file)))
    if (dir === undefined) return
    clearInterval(timer)
    work(dir)
  }, 20)
  stop = () => clearInterval(timer)
}

const gone = { kind: 'failed', failure: { boundary: 'sandbox', code: 'SandboxGoneError', retryable: true } }

withSandboxes('a sandbox that vanishes is blamed, and nothing is scored', () => {
  for (const [how, takeAway] of Object.entries(ways)) {
    test(`while the tests run, which wrote a reward of 0 before: ${how}`, async () => {
      once('mounts/logs-1/verifier/reward.txt', takeAway)
      const test = 'echo 0 > /logs/verifier/reward.txt; sleep 1; exit 1'
      const { record } = await playTrial({ task: { test }, agent: solver })
      expect(record.end).toMatchObject(gone)
    })

    test(`while the agent works: ${how}`, async () => {
      once('mounts/logs-0/agent/busy', takeAway)
      const agent = agentThat(async ({ sandbox, signal }) => {
        await sandbox.exec(['sh', '-c', 'touch /logs/agent/busy; sleep 1'], { signal })
        return { kind: 'finished' }
      })
      const { record } = await playTrial({ agent })
      expect(record.end).toMatchObject(gone)
    })

    test(`while an agent works that takes no notice: ${how}`, async () => {
      once('mounts/logs-0/agent/busy', takeAway)
      const agent = agentThat(async ({ sandbox }) => {
        await sandbox.exec(['touch', '/logs/agent/busy'])
        // Waits until the sandbox stops responding; then the agent says that it is done.
        for (let answers = true; answers; await wait(50))
          answers = await sandbox.exec(['true']).then(
            () => true,
            () => false,
          )
        return { kind: 'finished' }
      })
      const { record } = await playTrial({ agent })
      expect(record.end).toMatchObject(gone)
    })
  }
})
