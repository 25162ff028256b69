import { expect, test } from 'vitest'
import { defineRecipe } from './define-recipe.ts'

test('a recipe without stages is returned unchanged, so that reading it reports the error', () => {
  const recipe = { name: 'x', stage: [] }
  expect(defineRecipe(recipe as unknown as Parameters<typeof defineRecipe>[0])).toBe(recipe)
})
