import { z } from 'zod'
import { serverOptions } from '../shared/client/options.ts'
import { faultSchema } from './fault.ts'

const { api_base: _, api_key: __, api_key_env: ___, headers: ____, ...ofClient } = serverOptions

const milliseconds = z.number().nonnegative()

/** How long until a reply begins: constant, uniform between two values, or long-tailed around a median. */
const latency = z.union([
  milliseconds,
  z.strictObject({ min: milliseconds, max: milliseconds }),
  z.strictObject({ median: milliseconds.positive(), p95: milliseconds.positive() }),
])
export type Latency = z.output<typeof latency>

export const scriptedOptions = z.strictObject({
  ...ofClient,
  tasks: z
    .union([
      z
        .string()
        .min(1)
        .transform((dir) => [dir]),
      z.array(z.string().min(1)),
    ])
    .default([])
    .describe('folders of tasks whose solutions to play back'),
  script: z.string().min(1).optional().describe('file of turns to play back; used before solutions'),
  turns: z
    .enum(['one', 'few', 'many'])
    .default('few')
    .describe('how to play back a solution: in one turn, in three, or one command at a time'),
  wordy: z.boolean().default(false).describe('describe every command of a solution before typing it'),
  seed: z.number().int().default(0),
  context_tokens: z
    .number()
    .int()
    .positive()
    .default(131_072)
    .describe('maximum tokens of a conversation; longer ones are refused'),
  latency_ms: latency.default(0),
  tokens_per_sec: z.number().positive().optional().describe('speed of replies (default: immediate)'),
  max_running: z.number().int().positive().optional().describe('number of concurrent requests; others wait'),
  cache_tokens: z
    .number()
    .int()
    .positive()
    .default(4_000_000)
    .describe('memory for running conversations, as reported in the metrics'),
  reasoning: z.boolean().default(false).describe('add a little reasoning before each turn'),
  faults: z
    .array(faultSchema)
    .default([])
    .describe(
      'replies to spoil, as [{"kind": "wrong-command", "probability": 0.1}]; --json lists the kinds. After a wrong command the stand-in tries that turn again, so only a limit of turns makes it fail',
    ),
})
export type ScriptedOptions = z.output<typeof scriptedOptions>
