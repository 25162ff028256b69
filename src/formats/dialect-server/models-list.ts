import type { ServedModel } from '../model-dialect.ts'

/** A model list that callers of OpenAI's, vLLM's and Anthropic's APIs all understand. */
export function renderModels(models: readonly ServedModel[], createdSec: number): Record<string, unknown> {
  return {
    object: 'list',
    data: models.map((model) => renderModel(model, createdSec)),
    has_more: false,
    first_id: models[0]?.id ?? null,
    last_id: models.at(-1)?.id ?? null,
  }
}

export function renderModel(
  { id, contextTokens, outputTokens }: ServedModel,
  createdSec: number,
): Record<string, unknown> {
  return {
    id,
    object: 'model',
    created: createdSec,
    owned_by: 'ot-agent',
    type: 'model',
    display_name: id,
    created_at: new Date(createdSec * 1000).toISOString(),
    ...(contextTokens !== null && { max_model_len: contextTokens, max_input_tokens: contextTokens }),
    ...(outputTokens !== null && { max_tokens: outputTokens }),
  }
}

/** The same in Google's format. */
export function renderGeminiModels(models: readonly ServedModel[]): Record<string, unknown> {
  return { models: models.map(renderGeminiModel) }
}

export function renderGeminiModel({ id, contextTokens, outputTokens }: ServedModel): Record<string, unknown> {
  return {
    name: `models/${id}`,
    displayName: id,
    ...(contextTokens !== null && { inputTokenLimit: contextTokens }),
    ...(outputTokens !== null && { outputTokenLimit: outputTokens }),
    supportedGenerationMethods: ['generateContent', 'streamGenerateContent'],
  }
}
