// Prints how the only trial of a job with a weak model ended, and fails if such a model should not end that way:
// ended.mjs JOB solver|judge
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const [job = '', role = ''] = process.argv.slice(2)
const trial = join(job, readdirSync(job).find((name) => existsSync(join(job, name, 'result.json'))) ?? '')
const result = JSON.parse(readFileSync(join(trial, 'result.json'), 'utf8'))
const { agent_result: agent, verifier_result: verifier, exception_info: failure } = result
const reward = verifier?.rewards?.reward

if (role === 'solver') {
  if (failure !== null) throw new Error(`expected a scored trial, got ${JSON.stringify(failure)}`)
  if (reward !== 0) throw new Error(`expected that two turns of a weak model solve nothing, got ${reward}`)
  const { n_input_tokens: read, n_output_tokens: written } = agent
  if (!(read > 500 && written > 0 && written <= 2 * 160))
    throw new Error(`expected the tokens of two replies, got ${read} in and ${written} out`)
  console.log(`scored 0, ${read} tokens in, ${written} out`)
} else if (failure === null) {
  if (!(reward >= 0 && reward <= 1)) throw new Error(`expected a reward from 0 to 1, got ${reward}`)
  console.log(`the judge gave ${reward}`)
} else {
  if (failure.exception_type !== 'JudgeFailedError' || reward !== undefined)
    throw new Error(`expected JudgeFailedError and no reward, got ${JSON.stringify(failure)} and ${reward}`)
  console.log(`no verdict: ${failure.exception_message.slice(0, 200)}`)
}
