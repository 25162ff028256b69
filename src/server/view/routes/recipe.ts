import { viewDropped, viewRecipe } from '../../../app/view/recipe-view.ts'
import { listRequest, type ViewRoute } from '../route.ts'

/** `/api/recipes/RUN`: what each stage of a run kept and dropped. */
export const recipe: ViewRoute = async ({ library, names }) =>
  viewRecipe(library.data, library.data.recipe(names[0] ?? ''))

/** `/api/recipes/RUN/dropped/STAGE?reason=`: rows that a stage dropped. */
export const recipeDropped: ViewRoute = async ({ library, names, query }) => {
  const { offset, limit } = listRequest(query)
  const stage = names[1] ?? ''
  return viewDropped(library.data.recipe(names[0] ?? ''), { stage, offset, limit, reason: query.get('reason') ?? '' })
}
