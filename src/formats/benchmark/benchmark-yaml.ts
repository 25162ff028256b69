import { z } from 'zod'
import type { Benchmark, BenchmarkSource } from '../../core/benchmark.ts'
import { readDocument } from '../harbor-job/read-document.ts'
import { parseStrict } from '../strict-config.ts'

const text = z.string().min(1)
const name = z.string().regex(/^[a-z0-9][a-z0-9._-]*$/, 'expected lower-case letters, digits, dots and dashes')

const rows = {
  revision: text.optional(),
  config: text.optional(),
  split: text.optional(),
  files: z.array(text).min(1).optional(),
  id: text.optional(),
  text: text.optional(),
}

const sourceSchema = z
  .strictObject({
    hub: text.optional(),
    harbor: text.optional(),
    git: text.optional(),
    path: text.optional(),
    registry: text.optional(),
    ...rows,
  })
  .refine(({ hub, harbor, git, path }) => Boolean(hub || harbor || git || path), 'expected hub, harbor, git or path')

const schema = z.strictObject({
  schema: z.literal('benchmark/1'),
  name,
  title: text,
  summary: text,
  aliases: z.array(text).default([]),
  tasks: z.int().positive(),
  part_of: z.strictObject({ benchmark: name, names: z.array(z.string().regex(/^[\w.+@-]+$/)).min(1) }).optional(),
  sources: z.array(sourceSchema).default([]),
  texts: z.array(sourceSchema).default([]),
  run: z
    .strictObject({
      agent: text.default('terminus-2'),
      agent_options: z.record(z.string(), z.unknown()).default({}),
      attempts: z.int().positive().default(3),
      concurrency: z.int().positive().optional(),
      timeout_multiplier: z.number().positive().default(1),
      needs: z.array(z.enum(['internet', 'judge', 'images'])).default([]),
    })
    .prefault({}),
  decontamination: z
    .strictObject({
      words: z.int().min(8).max(50).default(8),
      covered_by: name.optional(),
      unavailable: text.optional(),
    })
    .prefault({}),
  licence: text.default('not said'),
  homepage: z.url().optional(),
  citation: text.optional(),
})

/** Reads a file of facts about a benchmark; `file` is for messages. */
export function parseBenchmarkYaml(source: string, file: string): Benchmark {
  const parsed = parseStrict(schema, readDocument(source, file), file, 'docs/guides/benchmark.md lists every field')
  const { run, decontamination, sources, texts, part_of: partOf, schema: _, ...same } = parsed
  return {
    ...same,
    partOf,
    sources: sources.map(toSource),
    texts: texts.map(toSource),
    run: {
      agent: run.agent,
      agentOptions: run.agent_options,
      attempts: run.attempts,
      concurrency: run.concurrency,
      timeoutMultiplier: run.timeout_multiplier,
      needs: run.needs,
    },
    decontamination: {
      words: decontamination.words,
      coveredBy: decontamination.covered_by,
      unavailable: decontamination.unavailable,
    },
  }
}

function toSource(source: z.output<typeof sourceSchema>): BenchmarkSource {
  const { hub, harbor, git, path, registry, ...rest } = source
  if (hub !== undefined) return { kind: 'hub', name: hub, ...rest }
  if (harbor !== undefined) return { kind: 'harbor', name: harbor, registry }
  if (git !== undefined) return { kind: 'git', name: git, path, ...rest }
  return { kind: 'path', name: path ?? '', ...rest }
}
