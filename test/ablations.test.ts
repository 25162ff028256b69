import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { planStudy } from '../src/app/ablate/plan.ts'
import { loadStudy } from '../src/app/ablate/study.ts'
import { settingSpecs } from '../src/app/launch/schema.ts'

const files = ['ablations', 'studies']
  .flatMap((dir) => readdirSync(dir, { recursive: true, encoding: 'utf8' }).map((name) => join(dir, name)))
  .filter((name) => name.endsWith('.yaml'))
  .sort()
const flags = new Set(settingSpecs.flatMap(({ name, short }) => [`--${name.replaceAll('_', '-')}`, `-${short}`]))

test('the ablations of the paper are here', () => {
  const stages = ['sources', 'mixing', 'augmentation', 'task-filters', 'teachers', 'rollout-filters']
  const further = ['mixing-100k', 'token-matched', 'scaling', 'repeats', 'rl-sources', 'v1-sources', 'v1-teachers']
  expect(files).toEqual(expect.arrayContaining([...stages, ...further].map((name) => `ablations/paper/${name}.yaml`)))
})

test('sources that have no pipeline here are task sets with a published name, or folders that the user fills', async () => {
  const { variants } = await loadStudy('ablations/paper/sources.yaml')
  const replaced = variants.flatMap(({ change }) => Object.values(change.replace))
  const repos = replaced.flatMap(({ use, with: { repo } = {} }) => (use === 'sources/hub-tasks' ? [repo] : []))
  const folders = replaced.flatMap(({ use, with: { path } = {} }) => (use === 'sources/task-folder' ? [path] : []))
  expect([variants.length, repos.length, folders.length]).toEqual([117, 68, 26])
  expect(new Set([...repos, ...folders]).size).toBe(94)
  expect(repos.filter((repo) => !/^(DCAgent|mlfoundations-dev)\/[\w-]+$/.test(String(repo)))).toEqual([])
})

describe.each(files)('%s', (name) => {
  test('can be planned: its variants fit the recipe, and what is missing is named', async () => {
    const study = await loadStudy(name)
    const plan = await planStudy(study, { dir: 'runs/none', offline: true })
    expect(plan.variants.length).toBeGreaterThan(1)
    expect(plan.overBudget).toEqual([])
    // Each variant's recipe or commands must differ from the baseline's, or nothing is compared.
    const isInCommands = JSON.stringify(study.outcome.commands ?? []).includes('{variant}')
    const others = plan.variants.filter(({ variant }) => variant !== study.baseline && !isInCommands)
    expect(others.filter(({ changed }) => changed.length === 0)).toEqual([])
    if (plan.missing.length > 0) expect(plan.needs.length).toBeGreaterThan(0)
  })

  test('its launches have flags that exist', async () => {
    const { outcome } = await loadStudy(name)
    const launches = (outcome.commands ?? []).filter(([program, verb, next]) => {
      return program === 'ot-agent' && verb === 'launch' && next !== 'watch'
    })
    const used = launches.flat().filter((word) => /^-/.test(word) && !word.includes(' '))
    expect(used.filter((word) => !flags.has(word))).toEqual([])
  })
})
