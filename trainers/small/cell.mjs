// One cell of a study: trains a student on a dataset, optionally lets it practice, and evaluates it on held-out tasks.
//
//   node trainers/small/cell.mjs --data DATASET --tasks NAME=DIR [--tasks ...] --out DIR [--processes 4] -- FLAGS OF train.py
//   ... --practice DIR --method rejection|gradient|teacher [--rounds 2] [--practice-attempts 4] [--practice-flags='FLAGS OF train.py'] -- ...
//
// Writes DIR/result.json in the format `ablate` reads: the rewards on every held-out task (0 if a trial was not
// scored), and training metrics. A rerun resumes: a finished student is not trained again, and finished trials are
// kept.
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { methods, practice } from './practice.mjs'
import { exists, project, rollOut, run } from './rollouts.mjs'

const split = process.argv.indexOf('--')
const { values: options } = parsed({
  args: process.argv.slice(2, split < 0 ? undefined : split),
  options: {
    help: { type: 'boolean', short: 'h' },
    data: { type: 'string' },
    tasks: { type: 'string', multiple: true, default: [] },
    out: { type: 'string' },
    processes: { type: 'string', default: '4' },
    attempts: { type: 'string', default: '1' },
    temperature: { type: 'string', default: '0' },
    turns: { type: 'string', default: '12' },
    practice: { type: 'string' },
    method: { type: 'string', default: 'none' },
    rounds: { type: 'string', default: '2' },
    'practice-attempts': { type: 'string', default: '4' },
    'practice-flags': { type: 'string', default: '' },
    python: { type: 'string', default: process.env.PYTHON ?? 'python3' },
  },
})
const trainFlags = split < 0 ? [] : process.argv.slice(split + 1)
if (options.help) {
  const head = (await readFile(import.meta.filename, 'utf8')).split('\nimport ')[0]
  console.log(head.replaceAll(/^\/\/ ?/gm, ''))
  process.exit(0)
}
if (!options.data || !options.out) refuse('--data and --out are needed', '--help says how it is called')
if (!['none', ...methods].includes(options.method))
  refuse(`unknown method "${options.method}"`, `known: none, ${methods.join(', ')}`)
if (!['none', 'teacher'].includes(options.method) && !options.practice)
  refuse('--method needs tasks', 'name a folder of them with --practice')
const out = resolve(options.out)
const first = join(out, 'student')
await mkdir(out, { recursive: true })

await train()
const how = { processes: Number(options.processes), turns: options.turns }
const { student, notes } = options.method === 'none' ? { student: first, notes: [] } : await practice(practiceRequest())
const heldOut = {}
for (const each of options.tasks) {
  const [name, dir] = each.split('=')
  heldOut[name] = await evaluate(name, resolve(dir))
}
await writeResult(heldOut)

function parsed(config) {
  try {
    return parseArgs(config)
  } catch (error) {
    return refuse(error.message, '--help says how it is called')
  }
}

function refuse(what, hint) {
  console.error(`error: ${what}\nhint: ${hint}`)
  process.exit(2)
}

async function train() {
  if (await exists(join(first, 'student.gguf'))) return
  const args = [join(project, 'trainers/small/train.py'), '--data', options.data, '--out', first, ...trainFlags]
  await run(options.python, args)
}

function practiceRequest() {
  const { method, python } = options
  return {
    ...how,
    ...{ method, python, out, student: first, data: options.data, rounds: Number(options.rounds) },
    tasks: resolve(options.practice ?? '.'),
    attempts: options['practice-attempts'],
    temperature: '1',
    trainFlags: options['practice-flags'].split(' ').filter(Boolean),
  }
}

async function evaluate(name, tasks) {
  const began = Date.now()
  const { attempts, temperature, python } = options
  const jobs = await rollOut({ ...how, python, student, tasks, jobs: join(out, 'jobs'), name, attempts, temperature })
  const rewards = {}
  for (const job of jobs) await addRewards(job, rewards)
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
  const lines = (await readFile(join(first, 'metrics.jsonl'), 'utf8')).trim().split('\n')
  const { parameters, rows, tokens, loss, sec } = Object.assign({}, ...lines.map((line) => JSON.parse(line)))
  const result = { tasks: {}, values: { parameters, rows, tokens, loss, training_sec: sec } }
  for (const [round, { solved, learned }] of notes.entries())
    Object.assign(result.values, {
      [`practice_${round + 1}_solved`]: solved,
      [`practice_${round + 1}_learned`]: learned,
    })
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
