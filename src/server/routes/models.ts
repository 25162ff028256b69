import {
  renderGeminiModel,
  renderGeminiModels,
  renderModel,
  renderModels,
} from '../../formats/dialect-server/models-list.ts'
import { renderDocument } from '../../formats/dialect-server/wire-answer.ts'
import { notFound, type Route } from '../route.ts'
import { send } from '../send.ts'

/** GET /v1/models, and GET /v1/models/NAME for one of them. */
export const models: Route = async ({ service, path, response, startedSec, signal }) => {
  const listed = await service.models()
  const id = nameIn(path)
  const model = listed.find((one) => one.id === id)
  const document = id === null ? renderModels(listed, startedSec) : model && renderModel(model, startedSec)
  await send(response, document ? renderDocument(document) : notFound, signal)
}

/** GET /v1beta/models: the same list in Google's format. */
export const geminiModels: Route = async ({ service, path, response, signal }) => {
  const listed = await service.models()
  const id = nameIn(path)
  const model = listed.find((one) => one.id === id)
  const document = id === null ? renderGeminiModels(listed) : model && renderGeminiModel(model)
  await send(response, document ? renderDocument(document) : notFound, signal)
}

function nameIn(path: string): string | null {
  const match = /\/models\/(.+)$/.exec(path)
  return match?.[1] === undefined ? null : decodeURIComponent(match[1])
}
