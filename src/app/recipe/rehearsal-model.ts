import type { ModelClient, ModelRequest } from '../../core/model.ts'
import { estimateTokens } from '../../lib/estimate-tokens.ts'

type Schema = Readonly<Record<string, unknown>>

/**
 * Takes the place of a model that a stage asks: its replies have the form that was asked for and no meaning. JSON is the smallest
 * document of the schema, a question of yes or no gets a yes, and anything else its own words back.
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

/** The smallest value of a JSON schema; of a number the largest, which filters by a score let through. */
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
