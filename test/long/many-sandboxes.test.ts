import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import local from '../../src/sandboxes/local/index.ts'
import { missingPrograms } from '../../src/sandboxes/local/privileges.ts'
import { plainEnvironment } from '../contracts/environment.ts'

/** For a thousand, which take minutes: OT_AGENT_TEST_SANDBOXES=1000. */
const count = Number(process.env.OT_AGENT_TEST_SANDBOXES ?? 300)
/** How many are started, queried or stopped at a time. */
const width = 8
/** For programs that start, query or stop sandboxes: far fewer than one extra per sandbox. */
const spare = 150
const hierarchies = '/sys/fs/cgroup'
const group = join(hierarchies, `pids/ot-many-${process.pid}`)
const scratch = mkdtempSync(join(tmpdir(), 'ot-many-'))

const skipReason = whyNot()
const meta = skipReason === null ? {} : { skipReason }
describe('hundreds of local sandboxes under a process limit', { skip: skipReason !== null, meta }, () => {
  const home = readFileSync('/proc/self/cgroup', 'utf8').match(/:pids:(.*)/)?.[1] ?? '/'
  afterAll(() => {
    move(join(hierarchies, 'pids', home))
    rmdirSync(group)
    rmSync(scratch, { recursive: true, force: true })
  })

  test('live at once with few processes each, and leave nothing', async () => {
    const stateDir = join(scratch, 'state')
    const environment = plainEnvironment(join(scratch, 'environment'))
    mkdirSync(environment.dir)
    const provider = local.make(local.options.parse({ pids: 64 }), { env: {}, stateDir })
    const lease = () => provider.lease({ owner: { job: 'many', trial: 'idle' }, environment })
    // The first one creates what all of them share.
    await (await lease())[Symbol.asyncDispose]()
    move(group)
    const before = leftovers(stateDir)
    writeFileSync(join(group, 'pids.max'), String(pidsNow() + 2 * count + spare))

    const boxes = await inTurn(lease)
    expect(pidsNow()).toBeGreaterThanOrEqual(count)
    expect(leftovers(stateDir)).not.toEqual(before)
    const answers = await inTurn((i) => boxes[i]?.exec(['/bin/sh', '-c', `echo $((${i} + 1)) > /n; cat /n`]))
    expect(answers.map((answer) => answer?.stdout)).toEqual(boxes.map((_, i) => `${i + 1}\n`))
    await inTurn((i) => boxes[i]?.[Symbol.asyncDispose]())

    expect(leftovers(stateDir)).toEqual(before)
    expect(await provider.reap()).toEqual([])
  })
})

/** The current processes, descriptors, mounts, control groups and directories. */
function leftovers(stateDir: string): unknown {
  return {
    children: children(),
    mounts: readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .filter((line) => line.includes(stateDir)),
    groups: readdirSync(hierarchies).filter((name) => existsSync(join(hierarchies, name, groupsOf(stateDir)))),
    directories: ['sandboxes', 'quarantine'].map((name) => readdirSync(join(stateDir, 'local', name))),
    descriptors: readdirSync('/proc/self/fd').length,
  }
}

/** The name of the control groups for a state directory's sandboxes. */
function groupsOf(stateDir: string): string {
  return `ot-agent-${createHash('sha256').update(join(stateDir, 'local')).digest('hex').slice(0, 8)}`
}

async function inTurn<T>(work: (i: number) => PromiseLike<T> | undefined): Promise<(T | undefined)[]> {
  const results: (T | undefined)[] = []
  let next = 0
  const worker = async () => {
    for (let i = next++; i < count; i = next++) results[i] = await work(i)
  }
  await Promise.all(Array.from({ length: width }, worker))
  return results
}

/** Moves this process and the programs it keeps: one of them starts sandboxes, and has others that remove them. */
function move(to: string): void {
  const waiting = [String(process.pid)]
  for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
    waiting.push(...children(pid))
    writeFileSync(join(to, 'cgroup.procs'), pid)
  }
}

function children(pid = String(process.pid)): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
}

function pidsNow(): number {
  return Number(readFileSync(join(group, 'pids.current'), 'utf8'))
}

function whyNot(): string | null {
  if (missingPrograms().length > 0) return 'needs bubblewrap'
  const [, hard = '0'] = /^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  if (Number(hard) < 10 * count) return `needs ${10 * count} file descriptors, ulimit -Hn is ${hard}`
  try {
    mkdirSync(group)
    return null
  } catch {
    return 'needs a control group of its own for processes'
  }
}
