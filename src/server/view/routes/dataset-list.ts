import type { ViewRoute } from '../route.ts'

/** `/api/data`: datasets and recipe runs. */
export const datasetList: ViewRoute = async ({ library }) => library.data.list()
