// One cell of a study: trains a student on a dataset and evaluates it on held-out tasks.
//
//   node trainers/small/cell.mjs --data DATASET --tasks NAME=DIR [--tasks ...] --out DIR [--processes 4] -- FLAGS OF train.py
//
// Writes DIR/result.json, as `ablate` reads it: the rewards of every held-out task (0 where a trial was not scored), and numbers of the
// training. Run again, it resumes: a finished student is not trained again, finished trials are kept.
import { spawn } from 'node:child_process'
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

const project = resolve(import.meta.dirname, '../..')
const split = process.argv.indexOf('--')
const { values: options } = parseArgs({
  args: process.argv.slice(2, split < 0 ? undefined : split),
  options: {
    data: { type: 'string' },
    tasks: { type: 'string', multiple: true, default: [] },
    out: { type: 'string' },
    processes: { type: 'string', default: '4' },
    attempts: { type: 'string', default: '1' },
    temperature: { type: 'string', default: '0' },
    turns: { type: 'string', default: '12' },
    python: { type: 'string', default: process.env.PYTHON ?? 'python3' },
  },
})
const trainFlags = split < 0 ? [] : process.argv.slice(split + 1)
if (!options.data || !options.out) {
  console.error('error: --data and --out are needed\nhint: the head of this file says how it is called')
  process.exit(2)
}
const out = resolve(options.out)
const student = join(out, 'student')
await mkdir(out, { recursive: true })

await train()
const server = await serve()
try {
  const heldOut = {}
  for (const each of options.tasks) {
    const [name, dir] = each.split('=')
    heldOut[name] = await evaluate(name, resolve(dir), server.url)
  }
  await writeResult(heldOut)
} finally {
  server.stop()
}

async function train() {
  if (await exists(join(student, 'student.gguf'))) return
  const args = [join(project, 'trainers/small/train.py'), '--data', options.data, '--out', student, ...trainFlags]
  await run(options.python, args, 'train')
}

async function serve() {
  const port = await freePort()
  const args = [join(project, 'trainers/small/serve.py'), student, '--port', String(port)]
  const child = spawn(options.python, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const url = `http://127.0.0.1:${port}`
  const answers = () =>
    fetch(`${url}/health`).then(
      (reply) => reply.ok,
      () => false,
    )
  while (!(await answers())) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`)
    await new Promise((done) => setTimeout(done, 100))
  }
  return { url: `${url}/v1`, stop: () => child.kill() }
}

/** Several processes share the tasks: one alone is bound by its event loop at about six trials a second. */
async function evaluate(name, dir, url) {
  const began = Date.now()
  const tasks = (await readdir(dir)).sort()
  const shares = Array.from({ length: Math.min(Number(options.processes), tasks.length) }, (_, i) =>
    tasks.filter((_, at) => at % Number(options.processes) === i),
  )
  await Promise.all(
    shares.map(async (share, i) => {
      const place = join(out, 'held-out', name, String(i))
      for (const task of share) await cp(join(dir, task), join(place, task), { recursive: true })
      const args = [
        join(project, 'bin/ot-agent.js'),
        'run',
        '-p',
        place,
        '-a',
        'terminus-2',
        '-m',
        'student',
        '--engine',
        'openai-compatible',
      ]
      args.push(
        '--api-base',
        url,
        '-o',
        join(out, 'jobs'),
        '--job-name',
        `${name}-${i}`,
        '-n',
        '16',
        '-k',
        options.attempts,
        '-q',
      )
      args.push('--ak', `temperature=${options.temperature}`, '--ak', `max_turns=${options.turns}`)
      const env = { ...process.env, XDG_CACHE_HOME: join(process.env.XDG_CACHE_HOME ?? join(out, 'cache'), String(i)) }
      await run(process.execPath, args, `${name}-${i}`, env)
    }),
  )
  const rewards = {}
  for (const i of shares.keys()) await addRewards(join(out, 'jobs', `${name}-${i}`), rewards)
  await rm(join(out, 'held-out', name), { recursive: true })
  return { sec: (Date.now() - began) / 1000, rewards }
}

async function addRewards(job, rewards) {
  for (const trial of await readdir(job, { withFileTypes: true })) {
    const file = join(job, trial.name, 'result.json')
    if (!trial.isDirectory() || !(await exists(file))) continue
    const result = JSON.parse(await readFile(file, 'utf8'))
    rewards[result.task_name] ??= []
    rewards[result.task_name].push(result.verifier_result?.rewards?.reward ?? null)
  }
}

async function writeResult(heldOut) {
  const lines = (await readFile(join(student, 'metrics.jsonl'), 'utf8')).trim().split('\n')
  const { parameters, rows, tokens, loss, sec } = Object.assign({}, ...lines.map((line) => JSON.parse(line)))
  const result = { tasks: {}, values: { parameters, rows, tokens, loss, training_sec: sec } }
  for (const [name, { rewards, sec }] of Object.entries(heldOut)) {
    const all = Object.values(rewards).flat()
    const solved = all.filter((reward) => reward === 1).length
    const unscored = all.filter((reward) => reward === null).length
    console.log(`${name}: ${solved} of ${all.length} trials solved, ${unscored} not scored`)
    Object.assign(result.values, {
      [`${name}_solved`]: solved / all.length,
      [`${name}_unscored`]: unscored,
      [`${name}_sec`]: sec,
    })
    for (const [task, each] of Object.entries(rewards))
      result.tasks[`${name}/${task}`] = each.map((reward) => reward ?? 0)
  }
  await writeFile(join(out, 'result.json.tmp'), `${JSON.stringify(result)}\n`)
  await rename(join(out, 'result.json.tmp'), join(out, 'result.json'))
}

function run(program, args, name, env = process.env) {
  return new Promise((done, failed) => {
    const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], env })
    let tail = ''
    child.stderr.on('data', (chunk) => {
      tail = (tail + chunk).slice(-2000)
    })
    child.on('error', failed)
    child.on('close', (code) => (code === 0 ? done() : failed(new Error(`${name} ended with ${code}: ${tail}`))))
  })
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise((done) => probe.once('listening', done))
  const { port } = probe.address()
  await new Promise((done) => probe.close(done))
  return port
}

function exists(path) {
  return readFile(path).then(
    () => true,
    () => false,
  )
}
