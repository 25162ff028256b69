import { plain } from '../../formats/dialect-server/wire-answer.ts'
import type { Route } from '../route.ts'
import { send } from '../send.ts'

/** GET /health: an empty page, which means that calls are being answered. */
export const health: Route = ({ response, signal }) => send(response, plain(200, 'text/plain', ''), signal)
