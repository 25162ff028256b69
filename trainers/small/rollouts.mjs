// Serves a student and runs it on tasks. Used by cell.mjs and practice.mjs.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'

export const project = resolve(import.meta.dirname, '../..')

/**
 * Runs `use` with the address of a server for the student. Its port is kept in a file, because a job only resumes with
 * the same address.
 */
async function withServer(python, student, portFile, use) {
  const port = await keptPort(portFile)
  const args = [join(project, 'trainers/small/serve.py'), student, '--port', String(port), '--slots', '16']
  const child = start(python, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const url = `http://127.0.0.1:${port}`
  const answers = () =>
    fetch(`${url}/health`).then(
      (reply) => reply.ok,
      () => false,
    )
  try {
    while (!(await answers())) {
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`the server ended with ${child.exitCode ?? child.signalCode}`)
      await new Promise((done) => setTimeout(done, 100))
    }
    return await use(`${url}/v1`)
  } finally {
    child.kill()
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
}

/**
 * Lets the student solve the tasks in a folder; returns the directories of the jobs. Several processes share the tasks,
 * each with its own server: a server is limited by the single thread that feeds its model, to about three trials a
 * second.
 */
export async function rollOut({ python, student, tasks: dir, jobs, name, processes, attempts, temperature, turns }) {
  const tasks = (await readdir(dir)).sort()
  const shares = Array.from({ length: Math.min(processes, tasks.length) }, (_, i) =>
    tasks.filter((_, at) => at % processes === i),
  )
  const places = join(jobs, `.tasks-${name}`)
  await mkdir(places, { recursive: true })
  const ended = await Promise.allSettled(
    shares.map(async (share, i) => {
      const place = join(places, String(i))
      for (const task of share) await cp(join(dir, task), join(place, task), { recursive: true })
      const job = `${name}-${i}`
      await ownerEnded(join(jobs, job))
      const of = ['-p', place, '-o', jobs, '--job-name', job, '-n', '16', '-k', String(attempts), '-q']
      const by = ['-a', 'terminus-2', '-m', 'student', '--engine', 'openai-compatible', '--api-base']
      const how = ['--ak', `temperature=${temperature}`, '--ak', `max_turns=${turns}`]
      const cache = join(process.env.XDG_CACHE_HOME ?? join(jobs, '..', 'cache'), String(i))
      const env = { ...process.env, XDG_CACHE_HOME: cache }
      const serve = (use) => withServer(python, student, join(jobs, `.port-${job}`), use)
      const first = (url) => otAgent(['run', ...of, ...by, url, ...how], env)
      const again = () => otAgent(['jobs', 'retry', join(jobs, job), '--only', 'infra', '-q'], env)
      // A server that dies takes trials with it: they are retried with a new one. Whatever fails then is not scored.
      for (const use of [first, again, again]) if (await serve(use)) break
      return join(jobs, job)
    }),
  )
  // Throw only now, so that no server is left running.
  const failed = ended.find(({ status }) => status === 'rejected')
  if (failed) throw failed.reason
  await rm(places, { recursive: true })
  return ended.map(({ value }) => value)
}

/** Runs a command; false if some trial of its job was not scored. */
async function otAgent(args, env) {
  try {
    await run(process.execPath, [join(project, 'bin/ot-agent.js'), ...args], env)
    return true
  } catch (error) {
    if (error.exitCode === 3) return false
    throw error
  }
}

/** The process that ran a job for a killed cell may still be ending; until then, nobody else can run it. */
async function ownerEnded(job) {
  const until = Date.now() + 60_000
  while (Date.now() < until) {
    const owner = await readFile(join(job, 'owner.json'), 'utf8').catch(() => null)
    if (owner === null || !isRunning(JSON.parse(owner).pid)) return
    await new Promise((done) => setTimeout(done, 200))
  }
}

function isRunning(pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const guard = ['--pdeathsig', 'TERM']
const hasGuard = spawnSync('setpriv', [...guard, 'true']).status === 0

/**
 * Starts a program. Where setpriv exists, the kernel ends it when we die, even by SIGKILL: a rerun writes to the same
 * places and needs the same ports.
 */
function start(program, args, options) {
  return hasGuard ? spawn('setpriv', [...guard, program, ...args], options) : spawn(program, args, options)
}

/** Runs a program to its end; on failure, the error has the end of its output. */
export function run(program, args, env = process.env) {
  return new Promise((done, failed) => {
    const child = start(program, args, { stdio: ['ignore', 'ignore', 'pipe'], env })
    let tail = ''
    child.stderr.on('data', (chunk) => {
      tail = (tail + chunk).slice(-2000)
    })
    child.on('error', failed)
    child.on('close', (exitCode) => {
      if (exitCode === 0) done()
      else failed(Object.assign(new Error(`${args[0]} ended with ${exitCode}: ${tail}`), { exitCode }))
    })
  })
}

export function exists(path) {
  return readFile(path).then(
    () => true,
    () => false,
  )
}

async function keptPort(file) {
  const kept = await readFile(file, 'utf8').catch(() => '0')
  // The server of an earlier run may still be ending.
  const until = Date.now() + 10_000
  for (;;) {
    const probe = createServer().listen(Number(kept), '127.0.0.1')
    const failure = await once(probe, 'listening').then(
      () => null,
      (error) => error,
    )
    if (failure === null) {
      const { port } = probe.address()
      await new Promise((done) => probe.close(done))
      // Whoever is killed while writing leaves an empty file, and no job would resume with another port.
      if (String(port) !== kept) await writeFile(file, String(port))
      return port
    }
    if (Date.now() > until)
      throw new Error(
        `port ${kept} of ${file} cannot be used (${failure.code}): end the server that an earlier run left, or remove that file`,
      )
    await new Promise((done) => setTimeout(done, 200))
  }
}
