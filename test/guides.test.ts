import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadRecipe } from '../src/app/recipe/load-recipe.ts'
import check from '../src/cli/recipe/check.ts'
import runCommand from '../src/cli/recipe/run.ts'
import { splitShellWords } from '../src/lib/shell-words.ts'
import { makeAnyStage, pipelineStageFile } from '../src/plugins/make-stage.ts'
import { registry } from '../src/plugins/table.ts'

// The walkthroughs' files exist only while test/e2e/walkthroughs.test.ts follows them.
const guides = readdirSync('docs/guides')
  .filter((name) => name !== 'walkthroughs.md')
  .map((name) => join('docs/guides', name))
const pages = ['README.md', 'CHANGELOG.md', ...guides].map((path) => [path, readFileSync(path, 'utf8')] as const)
const blocks = pages.flatMap(([path, text]) =>
  [...text.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(
    (match) => [path, match[1] ?? '', text.slice(0, match.index)] as const,
  ),
)

test.each(pages)('%s names only stages that exist', (_, text) => {
  const folders = 'augment|exporters|filters/tasks|filters/rollouts|makers|maps|mixers|rollouts|sources'
  const named = text.matchAll(new RegExp(`(?<=[\`'])(?:${folders})/[a-z][a-z0-9-]*(?=[\`'])`, 'g'))
  expect(
    [...named]
      .map(([name]) => name)
      .filter((name) => !Object.hasOwn(registry.stages, name) && pipelineStageFile(name) === null),
  ).toEqual([])
})

const stages = blocks.flatMap(([path, block]) =>
  block.split('\n').flatMap((line) => (/^ *\{.*\buse: '.*\},?$/.test(line) ? [[path, line.trim()] as const] : [])),
)
test('guides show stages', () => expect(stages.length).toBeGreaterThan(5))

test.each(stages)('%s: %s takes these options', async (_, line) => {
  // A line from our own guide, a literal like those in recipes.
  const entry = new Function('here', `return ${line.replaceAll('import.meta.dirname', 'here').replace(/,$/, '')}`)('/')
  await expect(makeAnyStage(entry.use, entry.with ?? {})).resolves.toBeDefined()
})

const programs = blocks.flatMap(([path, block, before]) => {
  const [, linked] = /\[(examples\/[\w./-]+)\]\([^)]*\)[^[]*$/.exec(before.slice(-300)) ?? []
  return linked !== undefined && block.startsWith('import ') ? [[path, linked, block] as const] : []
})
test('a guide shows an example', () => expect(programs.length).toBeGreaterThan(0))

test.each(programs)('%s shows %s as it is', (_, file, block) => {
  expect(readFileSync(file, 'utf8').replace(/^(\/\/.*\n)+/, '')).toBe(block)
})

const recipeLines = pages.flatMap(([path, text]) =>
  [...text.matchAll(/ot-agent recipe (check|run) ([^`#|&>\n]*\.ts[^`#|&>\n]*)/g)].map(
    ([, verb, words]) => [path, verb ?? '', words ?? ''] as const,
  ),
)
test('guides run recipes', () => expect(recipeLines.length).toBeGreaterThan(3))

test.each(recipeLines)('%s: recipe %s %s fits together', async (_, verb, words) => {
  const command = verb === 'check' ? check() : runCommand()
  const given = splitShellWords(words.trim()) ?? []
  if (!existsSync(given[0] ?? '')) throw new Error(`${given[0]} does not exist`)
  let loaded: Awaited<ReturnType<typeof loadRecipe>> | undefined
  command.action(async (file, options) => {
    loaded = await loadRecipe(file, options)
  })
  await command.exitOverride().parseAsync(given, { from: 'user' })
  expect(loaded?.stages.length).toBeGreaterThan(1)
})

test('benches that pages name exist', () => {
  const named = pages.flatMap(([, text]) => [...text.matchAll(/bench -- --only (\w[\w-]*)/g)].map(([, name]) => name))
  expect(named.filter((name) => !existsSync(`bench/${name}.ts`))).toEqual([])
})
