import type { ViewRoute } from '../route.ts'

/** `/api/data`: datasets and runs of recipes. */
export const datasetList: ViewRoute = async ({ library }) => library.data.list()
