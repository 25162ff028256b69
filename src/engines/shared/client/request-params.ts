import { z } from 'zod'
import { UserError } from '../../../core/errors.ts'
import type { ModelRequest } from '../../../core/model.ts'

const known = z.object({
  temperature: z.number().exactOptional(),
  top_p: z.number().exactOptional(),
  max_tokens: z.number().int().positive().exactOptional(),
  max_completion_tokens: z.number().int().positive().exactOptional(),
  stop: z.union([z.string(), z.array(z.string())]).exactOptional(),
  reasoning_effort: z.string().exactOptional(),
})

type Defaults = Omit<ModelRequest, 'messages'>

/** Settings for every request, by their names in the API; those we do not know go into the body unchanged. */
export function parseRequestParams(engine: string, params: Readonly<Record<string, unknown>>): Defaults {
  const parsed = known.safeParse(params)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    throw new UserError(
      `engine ${engine}: request_params.${issue?.path.join('.')}: ${issue?.message}`,
      'request_params take the names and values of the API',
    )
  }
  const { temperature, top_p, max_tokens, max_completion_tokens, stop, reasoning_effort } = parsed.data
  const maxOutputTokens = max_completion_tokens ?? max_tokens
  const others = Object.entries(params).filter(([key]) => !Object.hasOwn(known.shape, key))
  return {
    ...(temperature !== undefined && { temperature }),
    ...(top_p !== undefined && { topP: top_p }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(stop !== undefined && { stop: typeof stop === 'string' ? [stop] : stop }),
    ...(reasoning_effort !== undefined && { reasoningEffort: reasoning_effort }),
    ...(others.length > 0 && { extraBody: Object.fromEntries(others) }),
  }
}

/** A request with defaults filled in. */
export function withDefaults(request: ModelRequest, defaults: Defaults): ModelRequest {
  const { extraBody } = defaults
  return { ...defaults, ...request, ...(extraBody && { extraBody: { ...extraBody, ...request.extraBody } }) }
}
