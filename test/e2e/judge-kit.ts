import { onTestFinished } from 'vitest'
import { type Behaviour, json, says, startModelServer } from '../fakes/model-server.ts'
import { type TaskFiles, writeTask } from '../fakes/tasks.ts'

/** Tests that hand in what is in /answer, and find fault with nothing there. */
export const collect = `mkdir -p /logs/verifier/submission
if [ -s /answer ]; then cp /answer /logs/verifier/submission/answer; else echo 0 > /logs/verifier/reward.txt; fi`

/** Writes a task that a judge scores by one criterion, whose text tells it apart from others; gives its directory. */
export function writeJudged(
  root: string,
  name: string,
  more: TaskFiles = {},
  text = `Kind, for ${name}.`,
): Promise<string> {
  const rubric = { schema: 'judge/1', criteria: [{ name: 'kind', text }] }
  const files = { 'tests/judge.json': JSON.stringify(rubric), 'instruction.md': 'Write something kind to /answer.\n' }
  return writeTask(root, name, { test: collect, solve: 'echo a kind word > /answer', files, ...more })
}

/** What a judge says that gives this score: 11 tokens in, 3 out. */
export const verdict = (score: number) =>
  says(JSON.stringify({ criteria: [{ name: 'kind', reason: 'mostly', score }] }))

/** A server with models that judge, and the options that lead to the first. */
export async function startJudge(models: readonly string[], ...behaviours: Behaviour[]) {
  const server = await startModelServer()
  onTestFinished(() => server.close())
  server.plan(...behaviours)
  server.planList(json({ object: 'list', data: models.map((id) => ({ id })) }))
  const apiBase = `${server.origin}/v1`
  return { ...server, apiBase, judge: ['--judge-model', models[0] ?? 'm', '--judge-api-base', apiBase] }
}
