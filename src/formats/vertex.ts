import { anthropicMessages } from './anthropic-messages.ts'
import { geminiGenerate } from './gemini-generate.ts'
import { type Dialect, trimBase } from './model-dialect.ts'

/** The model's publisher, and where it runs. */
export interface VertexPlace {
  readonly project: string
  readonly location: string
}

/** Google's own models on Vertex AI: generateContent with other URLs. */
export function vertexGemini(place: VertexPlace): Dialect {
  return {
    ...geminiGenerate,
    ...shared('google'),
    name: 'vertex-gemini',
    path: (model, stream) =>
      `${modelAt(place, 'google', model)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  }
}

/** Claude on Vertex AI: Anthropic's messages API, with the model in the URL and the version in the body. */
export function vertexClaude(place: VertexPlace): Dialect {
  return {
    ...anthropicMessages,
    ...shared('anthropic'),
    name: 'vertex-claude',
    path: (model, stream) => `${modelAt(place, 'anthropic', model)}:${stream ? 'streamRawPredict' : 'rawPredict'}`,
    render: (model, request, how) => {
      const { model: _, ...body } = anthropicMessages.render(model, request, how)
      return { anthropic_version: 'vertex-2023-10-16', ...body }
    },
  }
}

/** The host of a Vertex AI location. */
export function vertexHost(location: string): string {
  return `https://${location === 'global' ? '' : `${location}-`}aiplatform.googleapis.com`
}

type Publisher = 'google' | 'anthropic'

/**
 * Model descriptions have no project in their URL. An account that may use a model may still be denied its description.
 */
function shared(publisher: Publisher) {
  return {
    base: (url: string) => trimBase(url, '/v1', '/v1beta1'),
    headers: () => ({}),
    modelsPath: `/v1beta1/publishers/${publisher}/models?pageSize=300`,
    modelPath: (model: string) => `/v1/publishers/${publisher}/models/${encodeURIComponent(model)}`,
    isListPrivate: true,
    parseModels,
  }
}

function modelAt({ project, location }: VertexPlace, publisher: Publisher, model: string): string {
  const place = `projects/${encodeURIComponent(project)}/locations/${encodeURIComponent(location)}`
  // Keep the @ of a version, `claude-sonnet-4@20250514`.
  return `/v1/${place}/publishers/${publisher}/models/${encodeURIComponent(model).replaceAll('%40', '@')}`
}

/** Parses `publishers/google/models/gemini-2.5-flash`, in a list or alone. */
function parseModels(document: unknown): ReturnType<Dialect['parseModels']> {
  const { publisherModels, name, ...rest } = Object(document)
  const listed: unknown = typeof name === 'string' ? [{ name }] : publisherModels
  // A publisher without models is an empty object.
  if (listed === undefined && Object.keys(rest).length === 0 && typeof document === 'object') return []
  if (!Array.isArray(listed)) return null
  const names = listed.map((each) => Object(each).name).filter((each): each is string => typeof each === 'string')
  return names.map((each) => ({ id: each.slice(each.lastIndexOf('/') + 1), contextTokens: null, outputTokens: null }))
}
