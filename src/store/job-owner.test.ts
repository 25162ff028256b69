import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { identify } from '../lib/process-identity.ts'
import { acquireOwner, readOwner } from './job-owner.ts'

let scratch: string
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'ot-owner-'))
  const contents = `import { acquireOwner } from ${JSON.stringify(new URL('./job-owner.ts', import.meta.url).pathname)}
    const say = (word) => process.stdout.write(word + '\\n')
    await acquireOwner(process.argv[2]).then(() => say('won'), (error) => say(error.name === 'UserError' ? 'lost' : error.stack))
    process.stdin.resume()`
  await build({
    stdin: { contents, resolveDir: process.cwd(), loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: join(scratch, 'contender.mjs'),
    logLevel: 'error',
  })
})
afterAll(() => rm(scratch, { recursive: true, force: true }))

const newJobDir = () => mkdtemp(join(scratch, 'job-'))
const contend = (jobDir: string) =>
  spawn(process.execPath, [join(scratch, 'contender.mjs'), jobDir], { stdio: ['pipe', 'pipe', 'inherit'] })
const answerOf = async (child: ChildProcess) => String((await once(child.stdout!, 'data'))[0]).trim()
const stop = async (child: ChildProcess) => {
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}
const deadOwner = async (jobDir: string) => {
  const child = contend(jobDir)
  expect(await answerOf(child)).toBe('won')
  await stop(child)
  return child.pid
}

test('a process that acquires a job owns it until it releases it', async () => {
  const jobDir = await newJobDir()
  expect(await readOwner(jobDir)).toBe(null)
  const release = await acquireOwner(jobDir)
  expect(await readOwner(jobDir)).toEqual({ process: identify(process.pid), liveness: 'alive' })
  await release()
  await release()
  expect(await readdir(jobDir)).toEqual([])
})

test('a living owner is named and nothing is touched', async () => {
  const jobDir = await newJobDir()
  const child = contend(jobDir)
  expect(await answerOf(child)).toBe('won')
  const before = await readFile(join(jobDir, 'owner.json'), 'utf8')
  await expect(acquireOwner(jobDir)).rejects.toThrow(`${jobDir}: process ${child.pid} is already running this job`)
  expect(await readFile(join(jobDir, 'owner.json'), 'utf8')).toBe(before)
  expect(await readdir(jobDir)).toEqual(['owner.json'])
  await stop(child)
})

test('a dead owner is replaced', async () => {
  const jobDir = await newJobDir()
  await deadOwner(jobDir)
  expect((await readOwner(jobDir))?.liveness).toBe('dead')
  await acquireOwner(jobDir)
  expect((await readOwner(jobDir))?.process.pid).toBe(process.pid)
  expect(await readdir(jobDir)).toEqual(['owner.json'])
})

test('of many processes that find a dead owner at once, exactly one replaces it', async () => {
  for (const round of [1, 2, 3]) {
    const jobDir = await newJobDir()
    await deadOwner(jobDir)
    const children = Array.from({ length: 6 }, () => contend(jobDir))
    const answers = await Promise.all(children.map(answerOf))
    const winner = children[answers.indexOf('won')]
    expect([round, ...answers.sort()]).toEqual([round, 'lost', 'lost', 'lost', 'lost', 'lost', 'won'])
    expect((await readOwner(jobDir))?.process.pid).toBe(winner?.pid)
    await Promise.all(children.map(stop))
  }
})

test('a process that died while replacing a dead owner is replaced too', async () => {
  const jobDir = await newJobDir()
  await deadOwner(jobDir)
  const owner = await readFile(join(jobDir, 'owner.json'), 'utf8')
  await rm(join(jobDir, 'owner.json'))
  await deadOwner(jobDir)
  const heir = await readFile(join(jobDir, 'owner.json'), 'utf8')
  const { createHash } = await import('node:crypto')
  const { pid, startTicks, bootId, host } = JSON.parse(owner)
  const claim = createHash('sha256')
    .update(JSON.stringify([pid, startTicks, bootId, host]))
    .digest('hex')
    .slice(0, 16)
  await writeFile(join(jobDir, 'owner.json'), owner)
  await writeFile(join(jobDir, `.owner-after-${claim}.json`), heir)
  await acquireOwner(jobDir)
  expect(await readdir(jobDir)).toEqual(['owner.json'])
  expect((await readOwner(jobDir))?.process.pid).toBe(process.pid)
})

test('an owner on another machine is not presumed dead, and a broken file is not presumed empty', async () => {
  const jobDir = await newJobDir()
  const stranger = { pid: 7, startTicks: '1', bootId: 'another', host: 'elsewhere' }
  await writeFile(join(jobDir, 'owner.json'), JSON.stringify(stranger))
  await expect(acquireOwner(jobDir)).rejects.toThrow('process 7 on elsewhere is already running this job')
  const container = { ...identify(process.pid), pid: 999_999_999, host: 'a-container', pidNs: undefined }
  await writeFile(join(jobDir, 'owner.json'), JSON.stringify(container))
  expect((await readOwner(jobDir))?.liveness).toBe('unknown')
  await writeFile(join(jobDir, 'owner.json'), 'half')
  await expect(acquireOwner(jobDir)).rejects.toThrow('expected the identity of a process, got "half"')
})
