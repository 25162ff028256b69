import type { RecipeTrace } from '../src/stages/shared/rollout-text/trace-row.ts'

/** A trace that every rollout filter keeps, with a test's changes. */
export function someTrace(over: Partial<RecipeTrace> = {}): RecipeTrace {
  return {
    id: 'job/hello__AbC23de/main/episode-5',
    conversations: goodConversation,
    agent: 'terminus-2',
    model: 'some-model',
    model_provider: 'openai',
    date: '2026-11-15T00:00:55.187153Z',
    task: 'hello',
    episode: 'episode-5',
    run_id: '6856a1de-0000-4000-8000-000000000001',
    trial_name: 'hello__AbC23de',
    result: '1.0',
    tool_definitions: null,
    instruction: 'Count the words.',
    verifier_output: 'all tests passed',
    trace_source: 'main',
    task_digest: 'a'.repeat(64),
    task_checksum: 'b'.repeat(64),
    prompt_digest: 'c'.repeat(64),
    attempt: 0,
    reward: 1,
    end: 'scored',
    exit: 'finished',
    boundary: null,
    step: null,
    system_effect: null,
    system_changes: [],
    turns: 6,
    context_messages: 0,
    tool_calls: [],
    tool_results: [],
    reasoning: [],
    turn_marks: [],
    train_on: 'all',
    input_tokens: 9000,
    output_tokens: 700,
    cost_usd: 0.01,
    job: 'job',
    source: 'tasks',
    schema: 'trace/1',
    lineage: null,
    signals: {},
    ...over,
  }
}

/** Terminus-2 tool calls as they appear in a trace. */
export function commands(...keystrokes: string[]): string {
  const calls = keystrokes.map(
    (keys) =>
      `<tool_call>\n${JSON.stringify({ name: 'bash_command', arguments: { keystrokes: keys, duration: 0.1 } })}\n</tool_call>`,
  )
  return ['Analysis: there is work to do.\nPlan: do it.', ...calls].join('\n')
}

/** The instruction, then the agent's turns, each followed by what it saw. */
export function conversation(...said: string[]): { role: string; content: string }[] {
  const turns = said.flatMap((content, i) => [
    {
      role: 'user',
      content: i === 0 ? 'Count the words in /app/text.' : `New Terminal Output:\nroot@sandbox:/app# ${i}`,
    },
    { role: 'assistant', content },
  ])
  return turns
}

const goodConversation = conversation(
  commands('pwd; ls -la\n'),
  commands('cat text\n'),
  commands('wc -w text\n'),
  commands('wc -w text > count\n'),
  commands('cat count\n'),
  'Done.\n<tool_call>\n{"name": "mark_task_complete", "arguments": {}}\n</tool_call>',
)
