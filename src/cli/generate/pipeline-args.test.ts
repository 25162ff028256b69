import { expect, test } from 'vitest'
import { z } from 'zod'
import { generateOptionNames, parsePipelineArgs } from '../../app/generate/options.ts'
import { generateOptions } from './options.ts'

const own = z.strictObject({ minWords: z.int().default(3), families: z.array(z.string()).default([]) })

test('reads common and own arguments in any spelling, with defaults', () => {
  const args = { limit: '5', min_words: 4, 'input-dir': 'here', check: false, model: 'm', families: ['x', 'y'] }
  expect(parsePipelineArgs('p', args, own)).toMatchObject({
    ...{ limit: 5, minWords: 4, inputDir: 'here', check: false, model: ['m'], families: ['x', 'y'] },
    ...{ stage: 'tasks', source: 'fixture', seed: 42, environment: 'local' },
  })
})

test.each([
  [{ limt: 5 }, 'unknown argument "limt"', 'did you mean limit?'],
  [{ limit: 0 }, 'limit', 'ot-agent generate data/p/generate.ts --help'],
  [{ stage: 'half' }, 'stage', 'ot-agent generate data/p/generate.ts --help'],
])('refuses %j', (args, message, hint) => {
  try {
    parsePipelineArgs('p', args, own)
    expect.unreachable()
  } catch (error) {
    expect(error).toMatchObject({
      name: 'UserError',
      message: expect.stringContaining(message),
      hint: expect.stringContaining(hint),
    })
  }
})

test('has an argument for every flag of the command, and a flag for every argument', () => {
  const flags = generateOptions().options.map((option) => option.attributeName())
  expect(flags.filter((flag) => !generateOptionNames.includes(flag))).toEqual([])
  expect(generateOptionNames.filter((name) => !flags.includes(name))).toEqual([])
})
