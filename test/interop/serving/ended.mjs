// Prints how a job's only trial ended: ended.mjs JOB scored|context [DATASET]
// With a dataset, the first request must begin as its conversations do, so that the student is asked what it was
// trained on.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const [job = '', expected = '', dataset] = process.argv.slice(2)
const read = (path) => JSON.parse(readFileSync(path, 'utf8'))
const trial = join(job, readdirSync(job).find((name) => existsSync(join(job, name, 'result.json'))) ?? '')
const result = read(join(trial, 'result.json'))
const stop = result.agent_result?.metadata?.stopped_by ?? null
const rewards = result.verifier_result?.rewards
if (rewards === undefined) throw new Error(`not scored: ${JSON.stringify(result.exception_info)}`)
if (expected === 'context' && stop !== 'context') throw new Error(`expected limit context, got ${stop}`)
if (expected === 'scored' && result.exception_info !== null) throw new Error(JSON.stringify(result.exception_info))
console.log(`scored ${JSON.stringify(rewards)}, stopped by ${stop}`)

if (dataset !== undefined) {
  const file = join(dataset, 'jsonl', readdirSync(join(dataset, 'jsonl'))[0])
  const [row] = readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line && JSON.parse(line))
  const trained = row.conversations[0].value ?? row.conversations[0].content
  const asked = readFileSync(join(trial, 'agent/episode-0/prompt.txt'), 'utf8')
  let same = 0
  while (same < trained.length && trained[same] === asked[same]) same++
  // Everything before the task itself is the same in every conversation.
  if (same < 1000)
    throw new Error(`the prompt differs from the dataset's after ${same} characters: ${asked.slice(same, same + 80)}`)
  console.log(`its prompt is the dataset's up to the task, ${same} characters`)
}
