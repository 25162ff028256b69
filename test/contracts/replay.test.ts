import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import MyAgent from '../../examples/agent-template/my-agent.ts'
import type { CommandAgent } from '../../src/agents/shared/blackbox/command-agent.ts'
import { makeBlackbox } from '../../src/agents/shared/blackbox/make-blackbox.ts'
import terminus2 from '../../src/agents/terminus-2/index.ts'
import type { ModelClient } from '../../src/core/model.ts'
import { recordCalls } from '../../src/plugins/user-modules/make-imported.ts'
import { stateDir, withSandboxes } from '../e2e/kit.ts'
import { type Part, playedClient } from '../fakes/model-client.ts'
import { looks, replayLaws } from './replay.ts'

const solves = 'echo 42 > /answer'

const inJson = (command: string, done = false) =>
  JSON.stringify({
    analysis: 'a',
    plan: 'p',
    commands: command === '' ? [] : [{ keystrokes: `${command}\n`, duration: 50 }],
    ...(done && { task_complete: true }),
  })

const inXml = (command: string, done = false) =>
  `<response><analysis>a</analysis><plan>p</plan><commands>${
    command === '' ? '' : `<keystrokes duration="50">${command}\n</keystrokes>`
  }</commands>${done ? '<task_complete>true</task_complete>' : ''}</response>`

/** Talks to its model as command-line agents do: over HTTP, with a tool, in a separate process. */
const boxed = `
const { execSync } = require('node:child_process')
const { randomUUID } = require('node:crypto')
const tools = [{ type: 'function', function: { name: 'bash', description: 'Runs a command', parameters: { type: 'object', properties: { command: { type: 'string' } } } } }]
const messages = [
  { role: 'system', content: 'Session ' + randomUUID() + ', today is ' + new Date().toString().slice(0, 15) + ', home ' + process.env.HOME },
  { role: 'user', content: process.env.TASK },
]
const ask = async () => {
  const response = await fetch(process.env.URL + '/v1/chat/completions', { method: 'POST', headers: { authorization: 'Bearer ' + process.env.KEY }, body: JSON.stringify({ model: 'm', messages, tools }) })
  if (!response.ok) process.exit(1)
  return (await response.json()).choices[0].message
}
;(async () => {
  for (;;) {
    const { content, tool_calls } = await ask()
    messages.push({ role: 'assistant', content, tool_calls })
    if (!tool_calls) return
    for (const { id, function: { arguments: text } } of tool_calls)
      messages.push({ role: 'tool', tool_call_id: id, content: execSync(JSON.parse(text).command, { shell: '/bin/bash' }).toString() })
  }
})()`

const described: CommandAgent = {
  name: 'boxed',
  tool: { npm: 'no-such-agent', version: '1.0.0' },
  skills: '.boxed/skills',
  files: () => ({}),
  env: ({ baseUrl, key, instruction }) => ({ URL: baseUrl, KEY: key, TASK: instruction }),
  argv: () => ['node', '-e', boxed],
}

function calls(command: string, id: string): Part {
  return { text: '', toolCalls: [{ id, name: 'bash', arguments: JSON.stringify({ command }) }], finish: 'tool-calls' }
}

const full: Part = { kind: 'context-exceeded', message: 'maximum context length' }
const ends = [inJson(solves), inJson('', true), inJson('', true)]

const teacher =
  (...parts: readonly Part[]) =>
  (): ModelClient =>
    playedClient(parts)

withSandboxes('replay', () => {
  replayLaws('terminus-2, JSON', {
    make: () => terminus2.make(terminus2.options.parse({}), { env: {}, stateDir }),
    teacher: teacher(inJson(looks), 'no JSON at all', inJson(solves), inJson('', true), inJson('', true)),
  })

  replayLaws('terminus-2 that is told that its context is full', {
    make: () => terminus2.make(terminus2.options.parse({}), { env: {}, stateDir }),
    teacher: teacher(inJson(looks), inJson('true'), full, 'SUMMARY', 'QUESTIONS', 'ANSWERS', ...ends),
  })

  replayLaws('terminus-2 that hands off before its context is full', {
    make: () => terminus2.make(terminus2.options.parse({}), { env: {}, stateDir }),
    teacher: () => {
      const large = { inputTokens: 100_000, cacheTokens: 0, outputTokens: 1 }
      const parts = [inJson(looks), { text: inJson('true'), usage: large }, 'SUMMARY', 'QUESTIONS', 'ANSWERS', ...ends]
      return playedClient(parts, { contextTokens: 100_001 })
    },
  })

  replayLaws('terminus-2, XML', {
    make: () => terminus2.make(terminus2.options.parse({ parser_name: 'xml' }), { env: {}, stateDir }),
    teacher: teacher(inXml(looks), inXml(solves), inXml('', true), inXml('', true)),
  })

  replayLaws('an agent of one’s own', {
    make: () => recordCalls(new MyAgent({})),
    teacher: teacher(`\`\`\`bash\n${looks}\n\`\`\``, `\`\`\`bash\n${solves}\n\`\`\``, 'TASK_COMPLETE'),
  })

  replayLaws('a command-line agent behind the gateway', {
    make: () => {
      // Pretends that it was installed earlier.
      mkdirSync(join(stateDir, `tools/no-such-agent@1.0.0-linux-${process.arch}`), { recursive: true })
      return makeBlackbox(described, { collect_rollout_details: false }, { env: {}, stateDir })
    },
    teacher: teacher(calls(looks, 'call_1'), calls(solves, 'call_2'), 'Done.'),
  })
})
