import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import { type Behaviour, json, says, startModelServer } from '../fakes/model-server.ts'
import { type TaskFiles, writeTask } from '../fakes/tasks.ts'
import { scratch } from './kit.ts'

const bin = resolve('bin/ot-agent.js')
export const key = 'sk-judge-0123456789abcdef'
// The cache keeps judgments: use the tests' own cache, not that of the user who runs them.
process.env.XDG_CACHE_HOME = join(scratch, 'cache')
const env = { PATH: process.env.PATH, HOME: scratch, XDG_CACHE_HOME: join(scratch, 'cache'), JUDGE_KEY: key }

/** Tests that submit /answer, and give 0 if it is missing or empty. */
export const collect = `mkdir -p /logs/verifier/submission
if [ -s /answer ]; then cp /answer /logs/verifier/submission/answer; else echo 0 > /logs/verifier/reward.txt; fi`

/**
 * Writes a task that a judge scores by one criterion, whose text distinguishes it from others; returns its directory.
 */
export function writeJudged(
  root: string,
  name: string,
  more: TaskFiles = {},
  criterion = `Kind, for ${name}.`,
): Promise<string> {
  const rubric = { schema: 'judge/1', criteria: [{ name: 'kind', text: criterion }] }
  const files = { 'tests/judge.json': JSON.stringify(rubric), 'instruction.md': 'Write something kind to /answer.\n' }
  return writeTask(root, name, { test: collect, solve: 'echo a kind word > /answer', files, ...more })
}

/** A judge's reply with this score: 11 tokens in, 3 out. */
export const verdict = (score: number) =>
  says(JSON.stringify({ criteria: [{ name: 'kind', reason: 'mostly', score }] }))

/** A server with models for judging, and the options that select the first. */
export async function startJudge(models: readonly string[], ...behaviours: Behaviour[]) {
  const server = await startModelServer()
  onTestFinished(() => server.close())
  server.plan(...behaviours)
  server.planList(json({ object: 'list', data: models.map((id) => ({ id })) }))
  const apiBase = `${server.origin}/v1`
  return { ...server, apiBase, judge: ['--judge-model', models[0] ?? 'm', '--judge-api-base', apiBase] }
}

/** Runs the program with the variable JUDGE_KEY set to `key`. */
export async function ot(...words: string[]) {
  const child = spawn(process.execPath, [bin, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code, stdout, stderr }
}
