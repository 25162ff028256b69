import { expect, test } from 'vitest'
import { defineRecipe } from './define-recipe.ts'

test('a recipe whose stages are misspelled is left to whoever reads it', () => {
  const recipe = { name: 'x', stage: [] }
  expect(defineRecipe(recipe as unknown as Parameters<typeof defineRecipe>[0])).toBe(recipe)
})
