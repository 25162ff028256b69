// Lets a student practice: it tries tasks several times and is trained on its own attempts. Used by cell.mjs.
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { exists, project, rollOut, run } from './rollouts.mjs'

/**
 * The weight of an attempt in training, from its reward and the student's mean reward on that task. rejection: attempts
 * that solved the task, all equal. gradient: how much better or worse than the mean (REINFORCE).
 */
const weightOf = {
  rejection: (reward) => (reward === 1 ? 1 : 0),
  gradient: (reward, mean) => reward - mean,
}

/**
 * How long a round trains and at what rate, unless flags override it. `teacher` is the control: just more of the
 * teacher's traces.
 */
const flagsOf = {
  rejection: ['--epochs', '3', '--lr', '3e-4'],
  gradient: ['--epochs', '1', '--lr', '1e-4'],
  teacher: ['--epochs', '100000', '--steps', '200', '--lr', '3e-4'],
}
export const methods = Object.keys(flagsOf)

/**
 * Practices in rounds; every round starts with the previous round's student. Returns the last student's folder and
 * notes on each round.
 */
export async function practice({ method, data, tasks, rounds, student, out, python, trainFlags, ...how }) {
  const notes = []
  let current = student
  for (let round = 1; round <= rounds; round++) {
    const place = join(out, 'practice', String(round))
    const next = join(place, 'student')
    await mkdir(place, { recursive: true })
    const rows = method === 'teacher' ? data : await attempt(method, place, python, current, { ...how, tasks }, notes)
    // Nothing to learn from: all attempts at each task had the same reward.
    if (rows === null) continue
    if (!(await exists(join(next, 'student.gguf')))) {
      const args = [join(project, 'trainers/small/train.py'), '--data', rows, '--out', next, '--init', current]
      const flags = ['--batch-tokens', '16384', '--warmup', '10', ...flagsOf[method], ...trainFlags]
      await run(python, [...args, ...flags])
    }
    current = next
  }
  return { student: current, notes }
}

/** The student tries the tasks; returns the file of rows to learn from, or null if there are none. */
async function attempt(method, place, python, student, how, notes) {
  const rows = join(place, 'rows.jsonl')
  if (!(await exists(rows))) {
    const jobs = await rollOut({ ...how, python, student, jobs: join(place, 'jobs'), name: 'practice' })
    await writeRows(jobs, place, rows, weightOf[method])
  }
  notes.push(JSON.parse(await readFile(join(place, 'notes.json'), 'utf8')))
  return (await readFile(rows, 'utf8')).trim() === '' ? null : rows
}

async function writeRows(jobs, place, file, weight) {
  const dataset = join(place, 'dataset')
  const args = [
    'traces',
    'export',
    '-p',
    ...jobs,
    '--out',
    dataset,
    '--format',
    'jsonl',
    '--form',
    'exact',
    '--overwrite',
  ]
  await run(process.execPath, [join(project, 'bin/ot-agent.js'), ...args])
  const rows = []
  for (const name of (await readdir(join(dataset, 'jsonl'))).sort())
    for (const line of (await readFile(join(dataset, 'jsonl', name), 'utf8')).split('\n'))
      if (line !== '') rows.push(JSON.parse(line))
  const scored = rows.filter(({ reward }) => reward !== null)
  const meanOf = meanRewards(scored)
  const learned = scored
    .map(({ task, reward, conversations }) => ({
      task,
      weight: weight(reward, meanOf.get(task)),
      messages: conversations,
    }))
    .filter(({ weight }) => weight !== 0)
  const solved = scored.filter(({ reward }) => reward === 1).length
  const notes = { attempts: scored.length, solved: solved / Math.max(1, scored.length), learned: learned.length }
  await writeFile(join(place, 'notes.json'), JSON.stringify(notes))
  await writeFile(`${file}.tmp`, learned.map((row) => `${JSON.stringify(row)}\n`).join(''))
  await rename(`${file}.tmp`, file)
  await rm(dataset, { recursive: true })
}

function meanRewards(rows) {
  const sums = new Map()
  for (const { task, reward } of rows) {
    const { sum, count } = sums.get(task) ?? { sum: 0, count: 0 }
    sums.set(task, { sum: sum + reward, count: count + 1 })
  }
  return new Map([...sums].map(([task, { sum, count }]) => [task, sum / count]))
}
