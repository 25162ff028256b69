import type { ModelClient, ModelRequest } from '../../core/model.ts'
import { estimateTokens } from '../../lib/estimate-tokens.ts'

type Schema = Readonly<Record<string, unknown>>

/**
 * Replaces a model in a rehearsal: its replies have the requested form but no meaning. JSON is the smallest document of
 * the schema, a yes-no question gets a yes, and anything else is echoed back.
 */
export function rehearsalModel(model: string): ModelClient {
  return {
    model: `rehearsal/${model}`,
    facts: {
      contextTokens: null,
      outputTokens: null,
      inputUsdPerToken: 0,
      cacheUsdPerToken: 0,
      outputUsdPerToken: 0,
    },
    countTokens: (messages) => ({
      tokens: estimateTokens(messages.map(({ content }) => content).join('\n')),
      exact: false,
    }),
    complete: async (request) => {
      const text = replyTo(request)
      const usage = { inputTokens: 0, cacheTokens: 0, outputTokens: estimateTokens(text) }
      const nothing = { reasoning: null, toolCalls: [], costUsd: 0, tokens: null, latencyMs: 0 }
      return { kind: 'reply', reply: { ...nothing, text, finish: 'stop', usage } }
    },
  }
}

function replyTo({ messages, jsonSchema }: ModelRequest): string {
  if (jsonSchema) return JSON.stringify(smallest(jsonSchema.schema))
  const asked = messages.find(({ role }) => role === 'user')?.content ?? ''
  if (/only YES or only NO/.test(asked)) return 'YES'
  return `A rehearsal: these are the words of the question.\n\n${asked}`
}

/** The smallest value of a JSON schema, except for numbers: the largest, so that score filters let it through. */
function smallest(schema: Schema): unknown {
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const choices = schema.anyOf ?? schema.oneOf
  if (Array.isArray(choices)) return smallest(Object(choices[0]))
  const [type] = [schema.type].flat()
  if (type === 'object') {
    const wanted = Array.isArray(schema.required) ? schema.required : []
    return Object.fromEntries(wanted.map((name) => [name, smallest(Object(Object(schema.properties)[name]))]))
  }
  if (type === 'array') {
    const length = typeof schema.minItems === 'number' ? schema.minItems : 1
    return Array.from({ length }, () => smallest(Object(schema.items)))
  }
  if (type === 'number' || type === 'integer') return Number(schema.maximum ?? schema.minimum ?? 1)
  if (type === 'boolean') return true
  return 'rehearsal '.repeat(Math.ceil((Number(schema.minLength ?? 0) + 1) / 10)).trim()
}
