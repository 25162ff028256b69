// Lets a student practice: it tries tasks several times, and is trained on its own attempts. Used by cell.mjs.
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { exists, project, rollOut, run, withServer } from './rollouts.mjs'

/**
 * What an attempt counts in the training, by its reward and the mean reward of the student's attempts at that task.
 * rejection: attempts that solved the task, each alike. gradient: how much better or worse than the mean (REINFORCE).
 */
const weightOf = {
  rejection: (reward) => (reward === 1 ? 1 : 0),
  gradient: (reward, mean) => reward - mean,
}
export const methods = Object.keys(weightOf)

/** Practices in rounds; every round begins with the student of the last. Gives the folder of the last student and notes of each round. */
export async function practice({ method, tasks, rounds, student, out, python, trainFlags, ...how }) {
  const notes = []
  let current = student
  for (let round = 1; round <= rounds; round++) {
    const place = join(out, 'practice', String(round))
    const next = join(place, 'student')
    const rows = join(place, 'rows.jsonl')
    await mkdir(place, { recursive: true })
    if (!(await exists(rows))) {
      const roll = (url) => rollOut({ ...how, url, tasks, jobs: join(place, 'jobs'), name: 'practice' })
      const jobs = await withServer(python, current, roll)
      await writeRows(jobs, place, rows, weightOf[method])
    }
    const lines = (await readFile(rows, 'utf8')).trim().split('\n')
    notes.push(JSON.parse(await readFile(join(place, 'notes.json'), 'utf8')))
    // Nothing to learn from: all attempts at each task had the same reward.
    if (lines[0] === '') continue
    if (!(await exists(join(next, 'student.gguf')))) {
      const args = [join(project, 'trainers/small/train.py'), '--data', rows, '--out', next, '--init', current]
      await run(python, [...args, ...trainFlags])
    }
    current = next
  }
  return { student: current, notes }
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
