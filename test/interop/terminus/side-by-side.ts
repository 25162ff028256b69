// side-by-side.mjs PARSER HARBOR_PYTHON DIR: plays the same replies to both agents and prints where their requests
// differ.
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { shownObservation } from '../../shown-observation.ts'
import { jsonReplies, xmlReplies } from './replies.ts'

interface Sent {
  readonly keys: string[]
  readonly message: string
}

const [parser = 'json', python = 'python3', dir = '.'] = process.argv.slice(2)
const instruction = 'Look around.\n\nThen stop.'
const replies = parser === 'json' ? jsonReplies : xmlReplies
mkdirSync(dir, { recursive: true })
const [theirs, ours] = [await played('harbor', harborLine), await played('ours', ourLine)]
process.exitCode = compare(theirs, ours) ? 0 : 1

/** Serves the replies to one agent and returns what it sent. */
async function played(name: string, line: (api: string, dir: string) => string[]): Promise<Sent[]> {
  const sent: Sent[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => response.setHeader('content-type', 'application/json').end(JSON.stringify(answer(chunks, sent))))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const [program = '', ...args] = line(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, join(dir, name))
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2000)
  })
  const code = await new Promise((resolve) => child.on('close', resolve))
  server.close()
  if (code !== 0) throw new Error(`${name} ended with ${code}: ${said}`)
  return sent
}

function answer(chunks: readonly Buffer[], sent: Sent[]): object {
  if (chunks.length === 0) return { object: 'list', data: [{ id: 'fake', object: 'model', max_model_len: 131072 }] }
  const { messages, ...rest } = JSON.parse(Buffer.concat(chunks).toString()) as {
    messages: { role: string; content: string }[]
  }
  const turn = messages.filter(({ role }) => role === 'assistant').length
  sent[turn] = { keys: Object.keys(rest).sort(), message: messages.at(-1)?.content ?? '' }
  const message = { role: 'assistant', content: replies[turn] ?? replies.at(-1) }
  const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }
  const choices = [{ index: 0, message, finish_reason: 'stop' }]
  return { id: 'x', object: 'chat.completion', created: 1, model: 'fake', choices, usage }
}

function harborLine(api: string, at: string): string[] {
  return [python, 'test/interop/terminus/harbor_side.py', at, api, parser, instruction]
}

/** Our prompts are worded differently, so this uses Harbor's: then only warnings may differ. */
function ourLine(api: string, at: string): string[] {
  const task = join(at, 'look-around')
  const files = {
    'task.toml': 'schema_version = "1.2"\n',
    'instruction.md': instruction,
    'environment/Dockerfile': 'FROM debian:12\nWORKDIR /app\n',
    'tests/test.sh': 'echo 1 > /logs/verifier/reward.txt\n',
  }
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(task, name, '..'), { recursive: true })
    writeFileSync(join(task, name), text)
  }
  const prompts = ['--ak', 'prompts=harbor', '--ak', `harbor_python=${python}`, '--ak', `parser_name=${parser}`]
  const where = ['-e', 'local', '-o', join(at, 'jobs'), '--disable-verification', '-q']
  const who = ['-a', 'terminus-2', '-m', 'fake', '--api-base', api]
  return [process.execPath, 'bin/ot-agent.js', 'run', '-p', task, ...who, ...prompts, ...where]
}

function compare(theirs: readonly Sent[], ours: readonly Sent[]): boolean {
  const shown = ({ keys, message }: Sent) =>
    `[${keys.join(' ')}]\n${shownObservation(message.replaceAll(join(dir, 'harbor/app'), '/app'))}`
  let differing = Math.abs(theirs.length - ours.length)
  for (const [turn, sent] of theirs.entries()) {
    const other = ours[turn]
    if (!other || shown(sent) === shown(other)) continue
    differing++
    console.log(`--- request ${turn}, after the reply ${JSON.stringify(replies[turn - 1] ?? '')}`)
    console.log(`Harbor: ${JSON.stringify(shown(sent))}\nours:   ${JSON.stringify(shown(other))}`)
  }
  console.log(`${theirs.length} requests of Harbor's agent, ${ours.length} of ours, ${differing} differ`)
  return differing === 0 && theirs.length > 5
}
