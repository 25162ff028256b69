import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { UserError } from '../../core/errors.ts'
import { readDocument } from '../../formats/harbor-job/read-document.ts'
import { parseStrict } from '../../formats/strict-config.ts'
import { isMissing } from '../../lib/files.ts'

const text = z.string().min(1)
const name = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._=,+-]*$/, 'expected letters, digits and any of . _ = , + -')
const value = z.union([z.string(), z.number(), z.boolean()])
const options = z.record(z.string(), z.unknown())

const change = z.strictObject({
  summary: text.optional(),
  set: options.default({}),
  replace: z.record(text, z.strictObject({ use: text, with: options.optional() })).default({}),
  remove: z.array(text).default([]),
  add: z
    .array(
      z.strictObject({
        after: text,
        id: text.optional(),
        use: text,
        with: options.optional(),
        from: z.union([text, z.array(text)]).optional(),
      }),
    )
    .default([]),
})

/** Measures of a recipe's rows: one value for each row that has it. */
const rowMeasures = ['reward', 'turns', 'input_tokens', 'output_tokens'] as const

const outcome = z
  .strictObject({
    teacher: text.optional(),
    rows: z.strictObject({ stage: text.optional(), measure: z.enum(rowMeasures) }).optional(),
    commands: z.array(z.array(text).min(1)).min(1).optional(),
    result: z.union([text.transform((path) => [path]), z.array(text).min(1)]).default(['{out}/result.json']),
    dataset: text.optional(),
  })
  .refine(
    ({ teacher, rows, commands }) => [teacher, rows, commands].filter((each) => each !== undefined).length === 1,
    'expected exactly one of teacher, rows and commands',
  )

const design = {
  rate: z.number().min(0).max(1).optional(),
  clustering: z.number().min(0).max(1).optional(),
  correlation: z.number().min(0).max(1).optional(),
  tasks: z.int().min(2).optional(),
  attempts: z.int().positive().optional(),
}

const budget = {
  rollouts: z.number().positive().optional(),
  tokens: z.number().positive().optional(),
  costUsd: z.number().positive().optional(),
}

const range = z.union([
  z.array(value).min(2),
  z
    .strictObject({
      from: z.number(),
      to: z.number(),
      log: z.boolean().default(false),
      whole: z.boolean().default(false),
    })
    .refine(({ from, to, log }) => from < to && (!log || from > 0), 'expected from < to, and from > 0 with log'),
])

const search = z.strictObject({
  space: z.record(text, range),
  candidates: z.int().min(2).max(1000),
  seed: z.int().nonnegative().default(0),
  factor: text,
  levels: z.array(z.number().positive()).min(1),
  budget: z.number().positive(),
})

/** Rejects duplicates: a repeated value would pass copies of one result off as several. */
function once<T extends z.ZodType<readonly unknown[]>>(list: T): T {
  return list.refine((values) => new Set(values.map(String)).size === values.length, 'expected each value once') as T
}

const schema = z.strictObject({
  schema: z.literal('ablation/1'),
  name,
  summary: text.optional(),
  measure: text.optional(),
  needs: z.array(text).default([]),
  recipe: text,
  limit: z.int().positive().optional(),
  set: options.default({}),
  baseline: name.optional(),
  variants: z.record(name, change).default({}),
  grid: z.record(text, z.array(value).min(1)).default({}),
  factors: z.record(name, once(z.array(value).min(1))).default({}),
  seeds: z.union([z.int().positive().max(100), once(z.array(z.int().nonnegative()).min(1))]).optional(),
  seedsOf: z.enum(['recipe', 'outcome', 'both']).optional(),
  outcome,
  power: z.strictObject(design).default({}),
  budget: z.strictObject(budget).default({}),
  search: search.optional(),
})

type Parsed = z.output<typeof schema>
export type FactorValue = z.output<typeof value>
export type StudyChange = z.output<typeof change>
export type Outcome = z.output<typeof outcome>
export type SearchSettings = z.output<typeof search>

/** A variant: its name and how its recipe differs from the base. */
export interface Variant {
  readonly name: string
  readonly change: StudyChange
}

/** An ablation as its file describes it, with grids expanded. */
export interface Study extends Omit<Parsed, 'schema' | 'variants' | 'grid' | 'seeds' | 'seedsOf' | 'baseline'> {
  /** The path of the file; the recipe's path is relative to it. */
  readonly file: string
  readonly folder: string
  readonly variants: readonly Variant[]
  readonly baseline: string
  /** Null: only the recipe's own seed. */
  readonly seeds: readonly (number | null)[]
  readonly seedsOf: 'recipe' | 'outcome' | 'both'
}

const guide = 'docs/guides/ablations.md shows one'

/** Reads an ablation's file; anything wrong with it is a UserError that names the key. */
export async function loadStudy(file: string): Promise<Study> {
  const source = await readFile(file, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) throw new UserError(`${file}: expected the file of an ablation, found nothing`, guide)
    throw error
  })
  return studyOf(parseStrict(schema, readDocument(source, file), file, guide), file)
}

const unchanged: StudyChange = { set: {}, replace: {}, remove: [], add: [] }

function studyOf({ schema: _, variants: named, grid, seeds, seedsOf, ...rest }: Parsed, file: string): Study {
  const listed = Object.entries(named).map(([variant, change]) => ({ name: variant, change }))
  const variants = [...listed, ...expandGrid(grid)]
  // A search adds its own candidates to the unchanged recipe.
  if (variants.length === 0) variants.push({ name: 'base', change: unchanged })
  const twice = variants.find(({ name: one }, i) => variants.findIndex((each) => each.name === one) !== i)
  if (twice)
    throw new UserError(
      `${file}: expected different names of variants, got ${twice.name} twice`,
      'rename the one under variants',
    )
  const baseline = rest.baseline ?? variants[0]?.name ?? ''
  if (!variants.some(({ name: one }) => one === baseline))
    throw new UserError(
      `${file}: baseline: unknown variant ${JSON.stringify(baseline)}`,
      `known: ${variants.map(({ name: one }) => one).join(', ')}`,
    )
  for (const reserved of ['seed', 'variant', 'dataset', 'out', 'here'])
    if (Object.hasOwn(rest.factors, reserved) || rest.search?.factor === reserved)
      throw new UserError(`${file}: factors: ${reserved} is reserved`, 'rename the factor')
  return {
    ...rest,
    ...{ file, folder: dirname(resolve(file)), variants, baseline },
    seeds:
      seeds === undefined ? [null] : typeof seeds === 'number' ? Array.from({ length: seeds }, (_, i) => i + 1) : seeds,
    seedsOf: seedsOf ?? (rest.outcome.commands ? 'outcome' : 'recipe'),
  }
}

/** Every combination of the values, with names such as `least=3,k=4`. */
function expandGrid(grid: Parsed['grid']): Variant[] {
  const keys = Object.keys(grid)
  if (keys.length === 0) return []
  const shown = keys.map((key) => {
    const last = key.split('.').at(-1) ?? key
    return keys.filter((other) => other.split('.').at(-1) === last).length > 1 ? key : last
  })
  return combinations(grid).map((set) => ({
    name: keys.map((key, i) => `${shown[i]}=${slug(String(set[key]))}`).join(','),
    change: { ...unchanged, set },
  }))
}

/** Every choice of one value per key, with the last key changing fastest. */
export function combinations(lists: Readonly<Record<string, readonly FactorValue[]>>): Record<string, FactorValue>[] {
  return Object.entries(lists).reduce<Record<string, FactorValue>[]>(
    (all, [key, values]) => all.flatMap((before) => values.map((each) => ({ ...before, [key]: each }))),
    [{}],
  )
}

/** Makes a name safe to use in a file name. */
function slug(given: string): string {
  return (
    given
      .replace(/[^\w.=,+-]+/g, '-')
      .replace(/^[.-]+/, '')
      .slice(0, 80) || '-'
  )
}
