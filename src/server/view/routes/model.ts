import type { ViewRoute } from '../route.ts'
import { boardOf } from './board.ts'

/** `/api/models/NAME`: lineage, training run and results of a model. */
export const model: ViewRoute = async (asked) =>
  boardOf(asked).model(asked.names[0] ?? '', await asked.library.idsByDir())
