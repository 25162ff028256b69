import type { ViewRoute } from '../route.ts'

/** `/api/health`: says that this is a viewer. */
export const health: ViewRoute = async () => ({ server: 'ot-agent view' })
