import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parse as parseToml } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import demo from '../recipes/demo.ts'
import rl from '../recipes/openthoughts-agent-rl.ts'
import v1 from '../recipes/openthoughts-agent-v1.ts'
import v2 from '../recipes/openthoughts-agent-v2.ts'
import { renderJsonSchemas } from '../src/app/json-schemas.ts'
import { read, schemaAt } from './json-schemas.ts'

test('schemas/ is what the program reads files with', () => {
  const files = Object.fromEntries(readdirSync('schemas').map((name) => [name, read(join('schemas', name))]))
  expect(files, 'node scripts/schemas.mjs writes them').toEqual(renderJsonSchemas())
})

describe('a schema accepts what is shipped, and refuses mistakes', () => {
  test('task', () => {
    const schema = schemaAt('task')
    for (const name of readdirSync('examples/tasks'))
      schema.parse(parseToml(read(join('examples/tasks', name, 'task.toml'))))
    for (const wrong of ['memory_mb = 0.5', 'cpus = "2"', 'network_mode = "open"'])
      expect(schema.safeParse(parseToml(`[environment]\n${wrong}`)).success, wrong).toBe(false)
  })

  test('job', () => {
    const schema = schemaAt('job')
    for (const name of readdirSync('configs/jobs')) schema.parse(parseYaml(read(join('configs/jobs', name))))
    schema.parse({})
    for (const wrong of [{ n_attempt: 3 }, { n_attempts: 0 }, { agents: [{ name: 5 }] }])
      expect(schema.safeParse(wrong).success).toBe(false)
  })

  test('recipe', () => {
    const schema = schemaAt('recipe')
    for (const recipe of [demo, rl, v1, v2]) schema.parse(recipe)
    expect(schema.safeParse({ ...demo, stage: [] }).success).toBe(false)
    expect(schema.safeParse({ ...demo, stages: [{ with: {} }] }).success).toBe(false)
  })
})
