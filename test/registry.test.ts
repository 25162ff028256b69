import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Plugin } from '../src/core/plugin.ts'
import type { AnyStage } from '../src/core/stage.ts'
import { makeAgent, makeEngine, makeProvider } from '../src/plugins/make.ts'
import { makeAnyStage, pipelineStages } from '../src/plugins/make-stage.ts'
import { registry } from '../src/plugins/table.ts'

const kinds = ['agents', 'sandboxes', 'engines', 'schedulers', 'stages']
const tables: Record<string, Record<string, () => Promise<{ readonly default: Plugin<unknown> }>>> = registry

test('every kind of plug-in that has files has a table, and the other way round', () => {
  expect(Object.keys(tables).sort()).toEqual(kinds.filter((kind) => pluginFiles(kind).length > 0).sort())
})

describe.each(Object.keys(tables))('%s', (kind) => {
  const table = tables[kind] ?? {}

  test('the table names exactly the files in the folder, in order', () => {
    expect(Object.keys(table)).toEqual(pluginFiles(kind))
  })

  test.each(Object.keys(table))('%s has its own name, a summary and strict options', async (name) => {
    const plugin = (await table[name]?.())?.default
    expect(plugin).toMatchObject({ name, summary: expect.stringMatching(/\S/) })
    const unknownKey = plugin?.options.safeParse({ 'no such option': 1 })
    expect(unknownKey?.error?.issues.map((issue) => issue.code)).toContain('unrecognized_keys')
  })
})

test.each(['constructor', 'toString', '__proto__', 'no-such'])(
  'the name %s is unknown, and the known ones are listed',
  async (name) => {
    const hint = (table: object) => expect.stringContaining(Object.keys(table).join(', '))
    await expect(makeAgent(name, {})).rejects.toMatchObject({ name: 'UserError', hint: hint(registry.agents) })
    await expect(makeEngine(name, {})).rejects.toMatchObject({ name: 'UserError', hint: hint(registry.engines) })
    await expect(makeProvider(name, {})).rejects.toMatchObject({ name: 'UserError', hint: hint(registry.sandboxes) })
  },
)

test('an unknown option of a plug-in is an error that names it', async () => {
  await expect(makeAgent('nop', { volume: 11 })).rejects.toThrow(/nop.*volume/)
})

test.each(Object.entries(pipelineStages))('%s is next to its pipeline, with strict options', async (name, file) => {
  expect(Object.hasOwn(registry.stages, name)).toBe(false)
  const { default: plugin }: { default: Plugin<AnyStage> } = await import(/* @vite-ignore */ resolve(file))
  expect(plugin).toMatchObject({ name: name.split('/').at(-1), summary: expect.stringMatching(/\S/) })
  const unknownKey = plugin.options.safeParse({ 'no such option': 1 })
  expect(unknownKey.error?.issues.map((issue) => issue.code)).toContain('unrecognized_keys')
})

test('a recipe may name a stage that is next to its pipeline', async () => {
  const stage = await makeAnyStage('sources/puzzles', { count: 2 })
  expect(stage).toMatchObject({ kind: 'source', gives: 'task' })
  expect(stage.code).toMatch(/^[0-9a-f]{64}$/)
  await expect(makeAnyStage('sources/puzzles', { cuont: 2 })).rejects.toThrow('cuont')
})

/** The names of a kind: `NAME.ts` or `NAME/index.ts`; the other files in a plug-in's folder are its own business. */
function pluginFiles(kind: string): string[] {
  if (kind !== 'stages') return filesIn(join('src', kind))
  return stageGroups.flatMap((group) => filesIn(join('src/stages', group)).map((name) => `${group}/${name}`))
}

/** The folders that hold stages; everything else in src/stages supports them. */
const stageGroups = [
  'augment',
  'exporters',
  'filters/rollouts',
  'filters/tasks',
  'makers',
  'maps',
  'mixers',
  'rollouts',
  'sources',
]

function filesIn(dir: string): string[] {
  if (!existsSync(dir)) return []
  const names = readdirSync(dir, { withFileTypes: true }).map((entry) => {
    if (entry.isDirectory()) return existsSync(join(dir, entry.name, 'index.ts')) ? entry.name : null
    return entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts') ? entry.name.slice(0, -3) : null
  })
  return names.filter((name) => name !== null).sort()
}
