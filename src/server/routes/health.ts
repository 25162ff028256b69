import { plain } from '../../formats/dialect-server/wire-answer.ts'
import type { Route } from '../route.ts'

/** GET /health: an empty page says that calls are answered. */
export const health: Route = async () => plain(200, 'text/plain', '')
