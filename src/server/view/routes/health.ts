import type { ViewRoute } from '../route.ts'

/** `/api/health`: identifies this server as a viewer. */
export const health: ViewRoute = async () => ({ server: 'ot-agent view' })
