import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseClusterYaml } from '../../src/formats/cluster-yaml.ts'
import { frame, frameEnd } from '../../src/run/launch/frame.ts'
import {
  endWithConsumers,
  renderPieces,
  runProgram,
  sourceSecrets,
  waitForEndpoint,
} from '../../src/run/launch/pieces.ts'
import { planServer } from '../../src/run/launch/plan-server.ts'
import { until } from '../slurm-cluster.ts'
import { facts } from '../slurm-launches.ts'

/** A launch script that runs one command in its own directory; CLAIM in the command stands for its claim file. */
function script(command: readonly string[], restarts = 0) {
  const dir = mkdtempSync(join(tmpdir(), 'ot-frame-'))
  const path = join(dir, 'job.sh')
  const job = { launchDir: dir, job: 'unit', isArray: false, restarts }
  const words = command.map((word) => word.replaceAll('CLAIM', join(dir, 'marks/unit.claim')))
  writeFileSync(path, renderPieces([frame(job), runProgram('work', words), frameEnd]))
  return { dir, path, marks: join(dir, 'marks') }
}

function start(path: string, link = 0) {
  const log = `${path}.${randomUUID()}.log`
  const child = spawn('bash', [path, String(link)], { stdio: ['ignore', 'ignore', openSync(log, 'w')] })
  const ended = new Promise<number | null>((done) => child.once('exit', done))
  return { child, ended, said: () => readFileSync(log, 'utf8') }
}

// Most of them wait for checks that a launch makes every few seconds: run concurrently, they take as long as the
// longest.
test.concurrent('work that ended well is marked done, and is not done again', async () => {
  const { path, marks, dir } = script([
    'bash',
    '-c',
    'echo x >> "$0"',
    join(mkdtempSync(join(tmpdir(), 'ot-frame-')), 'log'),
  ])
  expect(await start(path).ended).toBe(0)
  expect(readdirSync(marks)).toEqual(['unit.done'])
  expect(await start(path).ended).toBe(0)
  const [log = ''] = /\/\S+\/log/.exec(readFileSync(path, 'utf8')) ?? []
  expect(readFileSync(log, 'utf8')).toBe('x\n')
  expect(existsSync(dir)).toBe(true)
})

test.concurrent('work that fails leaves its code, and which of its tries it was', async () => {
  const { path, marks } = script(['bash', '-c', 'exit 7'], 2)
  expect(await start(path, 1).ended).toBe(7)
  expect(readFileSync(join(marks, 'unit.end'), 'utf8')).toBe('7 1/2 failed\n')
})

test.concurrent('the signal before the time limit is forwarded, and the end says that the work can resume', async () => {
  const ready = join(mkdtempSync(join(tmpdir(), 'ot-frame-')), 'ready')
  const work = `trap "exit 130" TERM; touch ${ready}; while :; do sleep 0.1; done`
  const { path, marks } = script(['bash', '-c', work])
  const { child, ended } = start(path)
  await until('the work', () => existsSync(ready))
  child.kill('SIGUSR1')
  expect(await ended).toBe(130)
  expect(readdirSync(marks)).toEqual(['unit.end'])
  expect(readFileSync(join(marks, 'unit.end'), 'utf8')).toBe('130 0/0 time-limit\n')
})

test.concurrent('a newer run takes over from one that is cut off: the old one stops, says nothing, and only one is done', async () => {
  const log = join(mkdtempSync(join(tmpdir(), 'ot-frame-')), 'log')
  const { path, marks } = script(['bash', '-c', `mkdir ${log}.old && sleep 60; echo done by $PPID >> ${log}`])
  const old = start(path)
  await until('the work', () => existsSync(`${log}.old`))
  const before = readFileSync(join(marks, 'unit.claim'), 'utf8')
  const next = start(path)
  await until('another claim', () => readFileSync(join(marks, 'unit.claim'), 'utf8') !== before)
  expect(await old.ended).toBe(75)
  expect(existsSync(join(marks, 'unit.end'))).toBe(false)
  expect(await next.ended).toBe(0)
  expect(readdirSync(marks)).toEqual(['unit.done'])
  expect(readFileSync(log, 'utf8').trim().split('\n')).toHaveLength(1)
})

test.concurrent.each([
  ['ends well', 0],
  ['fails', 7],
])('a run that %s before it sees that a newer one has claimed its work harms nothing of that one', async (_, code) => {
  const log = join(mkdtempSync(join(tmpdir(), 'ot-frame-')), 'log')
  const first = `cp CLAIM ${log}.claim; echo first > ${log}; while cmp -s CLAIM ${log}.claim; do sleep 0.05; done; exit ${code}`
  const { path, marks } = script(['bash', '-c', `if [ -e ${log} ]; then echo again >> ${log}; else ${first}; fi`])
  const old = start(path)
  await until('the work', () => existsSync(log))
  const before = readFileSync(join(marks, 'unit.claim'), 'utf8')
  const next = start(path)
  await until('another claim', () => readFileSync(join(marks, 'unit.claim'), 'utf8') !== before)
  expect(await old.ended).toBe(code === 0 ? 0 : 75)
  expect(readFileSync(join(marks, 'unit.claim'), 'utf8')).not.toBe(before)
  expect(existsSync(join(marks, 'unit.end'))).toBe(false)
  expect(await next.ended).toBe(0)
  expect(readdirSync(marks)).toEqual(['unit.done'])
  // Successful work is not repeated; failed work is.
  expect(readFileSync(log, 'utf8')).toBe(code === 0 ? 'first\n' : 'first\nagain\n')
})

test.concurrent('a server stopped before its time is up continues in its restart', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'ot-frame-'))
  const at = {
    ...{ cluster: parseClusterYaml(facts, 'loop.yaml'), launchId: 'one', experimentsDir: dir, cwd: dir, name: 'it' },
    ...{ program: ['bash', '-c', 'trap "exit 0" TERM; touch began; while :; do sleep 0.1; done'], secretsFile: null },
    ...{ timeLimit: '01:00:00', restarts: 1, stopSec: 60, variables: {} },
  }
  const server = {
    ...{ configFile: 'engine.yaml', model: 'm', replicas: 1, gpusPerReplica: 1, timeLimit: '01:00:00', ray: null },
    ...{ download: null, attempts: 1, delaySec: 1 },
  }
  const [job] = planServer(at, server, [{ job: 'user', tasks: null }])
  const path = join(dir, 'job.sh')
  writeFileSync(path, renderPieces(job?.script ?? []))
  const { child, ended } = start(path)
  await until('the server', () => existsSync(join(dir, 'began')))
  child.kill('SIGUSR1')
  expect(await ended).toBe(75)
  expect(readdirSync(join(dir, 'launches/one/marks'))).toEqual(['server.end'])
  expect(readFileSync(join(dir, 'launches/one/marks/server.end'), 'utf8')).toBe('75 0/1 time-limit\n')
})

test.concurrent.each(['KEY=planted also-planted', 'KEY=(planted', 'echo planted; false'])(
  'a file of keys with the line %s stops the job, and nothing of it is shown',
  async (line) => {
    const dir = mkdtempSync(join(tmpdir(), 'ot-frame-'))
    const keys = join(dir, 'keys.env')
    writeFileSync(keys, `export FIRST=1\n${line}\n`, { mode: 0o600 })
    const path = join(dir, 'job.sh')
    const pieces = [frame({ launchDir: dir, job: 'unit', isArray: false, restarts: 0 }), ...sourceSecrets(keys)]
    writeFileSync(path, renderPieces([...pieces, frameEnd]))
    const { ended, said } = start(path)
    expect(await ended).not.toBe(0)
    expect(said()).toContain('reads the file of keys')
    expect(said()).not.toContain('planted')
    expect(existsSync(join(dir, 'marks/unit.end'))).toBe(true)
  },
)

test.concurrent('who waits for a server counts its looks from when it has begun, and gives up when it was taken from the queue', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'ot-frame-'))
  writeFileSync(join(dir, 'squeue'), `#!/bin/bash\ncat ${dir}/queue\n`, { mode: 0o755 })
  const server = { job: 'server', jobName: 'it_server', endpointFile: join(dir, 'none'), attempts: 1, delaySec: 1 }
  const path = join(dir, 'job.sh')
  const pieces = [frame({ launchDir: dir, job: 'user', isArray: false, restarts: 0 }), waitForEndpoint(server)]
  writeFileSync(path, `PATH=${dir}:$PATH\n${renderPieces([...pieces, frameEnd])}`)
  writeFileSync(join(dir, 'queue'), '12 PENDING\n')
  const waiting = start(path)
  await until('a note', () => waiting.said().includes('the server waits for its turn'))
  waiting.child.kill('SIGTERM')
  expect(await waiting.ended).toBe(75)
  writeFileSync(join(dir, 'queue'), '')
  const gone = start(path)
  expect(await gone.ended).toBe(69)
  expect(gone.said()).toContain('the server was taken from the queue')
  writeFileSync(join(dir, 'marks/server.claim'), 'x\n')
  const begun = start(path)
  expect(await begun.ended).toBe(69)
  expect(begun.said()).toContain('the model does not answer after 1 looks')
})

test.concurrent('a server ends when all it serves is done, and when one of them has failed for good', async () => {
  for (const [mark, text] of [
    ['user.done', ''],
    ['user.end', '1 2/2 failed\n'],
  ] as const) {
    const dir = mkdtempSync(join(tmpdir(), 'ot-frame-'))
    const path = join(dir, 'job.sh')
    const pieces = [
      frame({ launchDir: dir, job: 'server', isArray: false, restarts: 0 }),
      endWithConsumers([{ job: 'user', tasks: null }]),
      runProgram('serve', ['sleep', '600']),
      frameEnd,
    ]
    writeFileSync(path, renderPieces(pieces))
    const { ended } = start(path)
    await until('the claim', () => existsSync(join(dir, 'marks/server.claim')))
    writeFileSync(join(dir, 'marks/user.end'), '1 0/2 failed\n')
    writeFileSync(join(dir, 'marks', mark), text)
    expect(await ended).toBe(0)
    expect(readFileSync(join(dir, 'marks/server.end'), 'utf8')).toBe('0 0/0 over\n')
  }
})
