import { definePipeline, z } from 'ot-agent'
import compose from './compose/index.ts'

const options = z.object({
  count: z.int().min(1).default(50).describe('how many tasks to compose'),
  first: z.int().min(0).default(0).describe('where in the sample to begin'),
  domains: z.array(z.string()).optional().describe('only these domains, for example sales,config'),
  operations: z.array(z.string()).optional().describe('only these operations, for example group-sum,repair-script'),
  without: z
    .array(z.string())
    .optional()
    .describe('all operations but these, which may still occur as further steps of a task'),
  levels: z.array(z.string()).optional().describe('only these: easy,medium,hard'),
  tools: z.array(z.string()).optional().describe('programs besides essential ones: git,sqlite3,make,gcc'),
  wordings: z
    .enum(['usual', 'many'])
    .optional()
    .describe('instructions with one or two wordings for each request, or with many'),
  wrong: z.number().min(0).max(1).optional().describe('share of tasks that ask for something other than they check'),
})

/**
 * Terminal tasks generated from a seed alone: domain x operation x data shape x constraints x fault, with exact tests.
 */
export default definePipeline({
  name: 'terminal-composer',
  summary: 'Terminal tasks composed offline, without a model, from tables of domains, operations, shapes and faults',
  options,
  // Tasks are invented here, so there is no other source: a seed and a number identify each.
  source: { fixture: { use: compose, with: ({ options }) => options }, real: null },
  strategy: 'compose',
})
