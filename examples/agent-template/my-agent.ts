// Your own agent: the model writes one block of bash per reply, and the agent runs it and shows the output.
//
//   npx ot-agent agents test ./my-agent.ts --api-base http://localhost:8000/v1 -m MODEL --task TASK
//   npx ot-agent run -p TASKS --agent-import-path ./my-agent.ts --api-base http://localhost:8000/v1 -m MODEL
//
// Options such as --ak max_iterations=30 arrive in the constructor.
import type { Agent, AgentAt, AgentExit, ChatMessage } from 'ot-agent'

const doneMark = 'TASK_COMPLETE'
const systemPrompt = `You solve a task on a Linux machine. Answer with exactly one block of bash:
\`\`\`bash
the commands
\`\`\`
It runs in a new shell, and you get to see its exit code and output. When the task is solved, write ${doneMark} instead.`

export default class MyAgent implements Agent {
  readonly name = 'my-agent'
  readonly version = '1.0.0'
  readonly needsModel = true
  constructor(private readonly options: { max_iterations?: number; temperature?: number }) {}

  // `at` has everything: the instruction, the sandbox, the model, a signal that says when to stop, a recorder.
  async solve({ instruction, client, sandbox, user, signal, record }: AgentAt): Promise<AgentExit> {
    if (client === null) throw new Error('expected a model, got none')
    const { max_iterations: turns = 10, temperature = 0.6 } = this.options
    const messages: ChatMessage[] = [
      { role: 'system', content: systemPrompt },
      { role: 'user', content: instruction },
    ]
    let [inputTokens, outputTokens] = [0, 0]
    for (let turn = 0; turn < turns; turn++) {
      const outcome = await client.complete({ messages, temperature, maxOutputTokens: 2048 }, { signal })
      // Running out of context or budget is not an error: the work done so far is still scored.
      if (outcome.kind === 'context-exceeded') return { kind: 'limit', limit: 'context' }
      if (outcome.kind === 'budget-exceeded') return { kind: 'limit', limit: 'cost' }
      const { text, usage } = outcome.reply
      inputTokens += usage.inputTokens
      outputTokens += usage.outputTokens
      record.usage({ inputTokens, outputTokens })
      const command = /```(?:bash|sh)\n([\s\S]*?)```/.exec(text)?.[1]
      const seen = command === undefined ? `Expected a block of bash, or ${doneMark}.` : await run(command)
      if (text.includes(doneMark)) return { kind: 'finished' }
      messages.push({ role: 'assistant', content: text }, { role: 'user', content: seen })
    }
    return { kind: 'limit', limit: 'turns' }

    // A failing command is a result like any other; only a broken sandbox throws.
    async function run(command: string): Promise<string> {
      const options = { signal, timeoutSec: 60, outputLimitBytes: 10_000, ...(user !== undefined && { user }) }
      const { exitCode, stdout, stderr } = await sandbox.exec(['bash', '-c', command], options)
      return `exit code ${exitCode}\n${stdout}${stderr}`
    }
  }
}
