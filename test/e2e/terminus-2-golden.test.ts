import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import terminus2 from '../../src/agents/terminus-2/index.ts'
import { observed } from '../../src/core/model-replies.ts'
import openaiCompatible from '../../src/engines/openai-compatible.ts'
import scripted from '../../src/engines/scripted/index.ts'
import { serveModel } from '../../src/server/serve-model.ts'
import { agentConfig } from '../fakes/configs.ts'
import { holdLongTimers, longSec } from '../hold-long-timers.ts'
import { parseTrajectory } from '../parse-trajectory.ts'
import { playTrial, stateDir, withSandboxes } from './kit.ts'

/** The n-th request gets the n-th turn: a reply, or a fault instead. */
type Turn = { readonly reply: string; readonly finish?: 'length' } | { readonly fault: string | object }

const json = (commands: readonly string[], done = false): Turn => ({
  reply: JSON.stringify({
    analysis: 'looked',
    plan: 'go on',
    commands: commands.map((command) => ({ keystrokes: `${command}\n`, duration: 50 })),
    ...(done && { task_complete: true }),
  }),
})
const xml = (command: string, done = false): Turn => ({
  reply: `<response><analysis>looked</analysis><plan>go on</plan><commands>${
    command && `<keystrokes duration="50">${command}\n</keystrokes>`
  }</commands>${done ? '<task_complete>true</task_complete>' : ''}</response>`,
})
const solves = json(['cd /tmp', 'echo 42 > /answer'])
const done = json([], true)
const full: Turn = { fault: 'context-exceeded' }
const handoff: Turn[] = [{ reply: 'what was done' }, { reply: 'what was asked' }, { reply: 'what was answered' }]

interface Scenario {
  readonly turns: readonly Turn[]
  readonly options?: Readonly<Record<string, unknown>>
  readonly timeoutSec?: number
}

const scenarios: Readonly<Record<string, Scenario>> = {
  'good-run': { turns: [solves, done, done] },
  'invalid-json': {
    turns: [
      { reply: 'Let me look.' },
      { reply: '{"analysis": "a"}' },
      { reply: '{"analysis": "a", "plan": "p", "commands": []' },
      solves,
      done,
      done,
    ],
  },
  xml: {
    turns: [xml('echo 42 > /answer'), { reply: 'Done.' }, xml('', true), xml('', true)],
    options: { parser_name: 'xml' },
  },
  truncation: { turns: [{ reply: '{"analysis": "I will write ever', finish: 'length' }, solves, done, done] },
  'context-overflow': { turns: [solves, json(['pwd']), full, ...handoff, done, done] },
  'linear-history': {
    turns: [solves, json(['pwd']), full, ...handoff, done, done],
    options: { trajectory_config: { linear_history: true, raw_content: true } },
  },
  timeout: { turns: [solves, { fault: 'silence' }], timeoutSec: longSec },
  'double-completion': { turns: [done, solves, done, { reply: 'hm' }, done] },
}

withSandboxes('terminus-2 against a stand-in over HTTP', () => {
  test.each(Object.entries(scenarios))('%s', async (name, scenario) => {
    const { record, files } = await play(scenario)
    const text = `${JSON.stringify({ end: record.end, metadata: shownMetadata(record.metadata ?? {}), files }, null, 2)}\n`
    await expect(text).toMatchFileSnapshot(`../fixtures/terminus-2/${name}.json`)
  })

  test('a server that asks for more patience than there is time fails the trial at once, and is no run out of time', async () => {
    const patience: Turn = { fault: { kind: 'rate-limit', retry_after_sec: 300 } }
    const { record } = await play({ turns: [solves, patience, done, done], timeoutSec: 200 })
    expect(record.end).toMatchObject({ kind: 'failed', failure: { boundary: 'model', code: 'RateLimitError' } })
  })
})

async function play({ turns, options = {}, timeoutSec }: Scenario) {
  const script = join(mkdtempSync(join(tmpdir(), 'golden-')), 'script.json')
  writeFileSync(script, JSON.stringify({ order: 'requests', turns }))
  const standIn = scripted.make(scripted.options.parse({ script }), { env: {}, stateDir })
  const server = await serveModel(standIn.service, { host: '127.0.0.1', port: 0, apiKey: null })
  try {
    const engine = openaiCompatible.make(openaiCompatible.options.parse({ api_base: `${server.origin}/v1` }), {
      env: {},
      stateDir,
    })
    const agent = terminus2.make(terminus2.options.parse({ session_id: 'golden', ...options }), { env: {}, stateDir })
    const config = { agent: agentConfig({ overrideTimeoutSec: timeoutSec ?? null }) }
    const timeIsUp = holdLongTimers()
    let calls = 0
    // A run with a time limit runs out of time when its last turn begins.
    const began = () => void (++calls === turns.length && timeoutSec !== undefined && timeIsUp())
    const client = observed(engine.client('scripted'), { began, ended: () => {} })
    const { record, dir } = await playTrial({ agent, client, config })
    const names = readdirSync(join(dir, 'agent'))
      .filter((file) => file.startsWith('trajectory'))
      .sort()
    const read = (file: string) =>
      shownTrajectory(parseTrajectory(readFileSync(join(dir, 'agent', file), 'utf8'), file))
    return { record, files: Object.fromEntries(names.map((file) => [file, read(file)])) }
  } finally {
    await server.close()
  }
}

/** Leaves out how long calls took and which prompts were used. */
function shownMetadata({
  api_request_times_msec: times,
  prompts_digest: _,
  ...rest
}: Readonly<Record<string, unknown>>): object {
  return { ...rest, calls: Array.isArray(times) ? times.length : 0 }
}

/** A trajectory without what differs between machines and times: timestamps, the shell's prompt, and token counts. */
function shownTrajectory(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, item) => {
      if (key === 'timestamp' || key.endsWith('_tokens')) return undefined
      return typeof item === 'string' ? shownText(item) : item
    }),
  )
}

function shownText(text: string): string {
  return text
    .replace(/^You are an AI assistant[\s\S]*?\nTask Description:/, '[the rules]\nTask Description:')
    .replace(/^\S+[#$](?= |$)/gm, '$')
}
