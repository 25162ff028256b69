import { z } from 'zod'
import { definePlugin } from '../../../core/plugin.ts'
import { isSecretName } from '../../../core/redact.ts'
import type { MapStage, RowFilter } from '../../../core/stage.ts'
import { findSecrets, redactSecrets } from '../../shared/rollout-text/secret-shapes.ts'
import { type RecipeTrace, traceFilter } from '../../shared/rollout-text/trace-row.ts'

const options = z.strictObject({
  how: z
    .enum(['drop', 'redact'])
    .default('drop')
    .describe('`redact` puts the kind of a secret in its place and keeps the trace.'),
})

type Env = Readonly<Record<string, string | undefined>>

/**
 * Keeps secrets out of the output: keys and tokens recognized by their shape, and the values of this machine's secret
 * variables.
 */
export default definePlugin({
  name: 'filters/rollouts/secrets',
  summary: 'Drop traces with secrets in them, or redact the secrets',
  options,
  make: ({ how }, { env }): RowFilter<RecipeTrace> | MapStage<RecipeTrace, RecipeTrace> => {
    const known = hostSecrets(env)
    const dropping = traceFilter((row) => {
      for (const { place, text } of textsOf(row)) {
        const [first, ...more] = findSecrets(text, known)
        if (!first) continue
        const { kind, start, end } = first
        const rest = more.length > 0 ? `, and ${more.length} more` : ''
        return { reason: 'secret', detail: `${kind} in ${place}, characters ${start} to ${end}${rest}` }
      }
      return true
    })
    if (how === 'drop') return dropping
    return {
      kind: 'map',
      takes: 'trace',
      gives: 'trace',
      async *run(rows) {
        for await (const row of rows) yield redacted(row, known)
      },
    }
  },
})

/** Values of variables whose names suggest a secret, if they are too long to occur by chance. */
function hostSecrets(env: Env): readonly string[] {
  return Object.entries(env).flatMap(([name, value = '']) =>
    isSecretName(name) && !/author/i.test(name) && value.length >= 12 && /\d/.test(value) && !/^[/~]/.test(value)
      ? [value]
      : [],
  )
}

function textsOf(row: RecipeTrace): { readonly place: string; readonly text: string }[] {
  return [
    ...row.conversations.map(({ content }, i) => ({ place: `message ${i + 1}`, text: content })),
    ...row.tool_calls.map((call) => ({ place: `a call in message ${call.message + 1}`, text: call.arguments })),
    ...row.reasoning.map(({ message, content }) => ({
      place: `the reasoning of message ${message + 1}`,
      text: content,
    })),
    { place: 'the instruction', text: row.instruction ?? '' },
    { place: 'the output of the tests', text: row.verifier_output ?? '' },
    { place: 'the tools', text: row.tool_definitions ?? '' },
  ]
}

function redacted(row: RecipeTrace, known: readonly string[]): RecipeTrace {
  const clean = (text: string | null) => (text === null ? null : redactSecrets(text, known))
  return {
    ...row,
    conversations: row.conversations.map(({ role, content }) => ({ role, content: redactSecrets(content, known) })),
    tool_calls: row.tool_calls.map((call) => ({ ...call, arguments: redactSecrets(call.arguments, known) })),
    reasoning: row.reasoning.map((thought) => ({ ...thought, content: redactSecrets(thought.content, known) })),
    instruction: clean(row.instruction),
    verifier_output: clean(row.verifier_output),
    tool_definitions: clean(row.tool_definitions),
  }
}
