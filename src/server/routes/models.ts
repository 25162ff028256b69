import {
  renderGeminiModel,
  renderGeminiModels,
  renderModel,
  renderModels,
} from '../../formats/dialect-server/models-list.ts'
import { renderDocument } from '../../formats/dialect-server/wire-answer.ts'
import { notFound, type Route } from '../route.ts'

/** GET /v1/models, and one of them by its name. */
export const models: Route = async ({ service, path, startedSec }) => {
  const listed = await service.models()
  const id = nameIn(path)
  if (id === null) return renderDocument(renderModels(listed, startedSec))
  const model = listed.find((one) => one.id === id)
  return model ? renderDocument(renderModel(model, startedSec)) : notFound
}

/** GET /v1beta/models: the same in Google's words. */
export const geminiModels: Route = async ({ service, path }) => {
  const listed = await service.models()
  const id = nameIn(path)
  if (id === null) return renderDocument(renderGeminiModels(listed))
  const model = listed.find((one) => one.id === id)
  return model ? renderDocument(renderGeminiModel(model)) : notFound
}

function nameIn(path: string): string | null {
  const match = /\/models\/(.+)$/.exec(path)
  return match?.[1] === undefined ? null : decodeURIComponent(match[1])
}
