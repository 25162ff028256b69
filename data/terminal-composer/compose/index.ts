import { type Dropped, definePlugin, makeDraws, type Source, type TaskDraft, UserError, z } from 'ot-agent'
import {
  composeTask,
  composeWrongTask,
  domainNames,
  environmentDigest,
  operationNames,
  toolsOf,
} from './compose-task.ts'
import { wordings } from './wording.ts'
import { levels, type Tool, tools as toolNames } from './work.ts'

const options = z.strictObject({
  count: z.int().min(1).default(100).describe('How many tasks.'),
  first: z.int().min(0).default(0).describe('Where in the sample to begin: tasks `first` to `first + count - 1`.'),
  domains: z.array(z.enum(domainNames)).min(1).optional().describe('Only these domains (default: all).'),
  operations: z.array(z.enum(operationNames)).min(1).optional().describe('Only these operations (default: all).'),
  without: z
    .array(z.enum(operationNames))
    .min(1)
    .optional()
    .describe('All operations but these, which may still occur as further steps of a task.'),
  levels: z.array(z.enum(levels)).min(1).optional(),
  tools: z
    .array(z.enum(toolNames))
    .default([])
    .describe(
      'Programs that sandboxes have or can install besides what is essential in Debian; domains that need others are skipped.',
    ),
  wordings: z
    .enum(wordings)
    .default('usual')
    .describe('How instructions are worded: each request in one or two ways, or in many.'),
  wrong: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe('Share of tasks that ask for something other than they check, to study defective data.'),
})

/**
 * Terminal tasks drawn from domain x operation x data shape x constraints x fault, with exact tests, without a model.
 */
export default definePlugin<Source<TaskDraft>, typeof options>({
  name: 'compose',
  summary: 'Terminal tasks composed from tables of domains, operations, shapes, constraints and faults',
  options,
  make: ({ tools, ...asked }) => {
    requireTools([...(asked.domains ?? []), ...(asked.operations ?? [])], tools)
    return composeSource({ tools, ...asked })
  },
})

function requireTools(named: readonly string[], tools: readonly Tool[]): void {
  for (const name of named) {
    const missing = toolsOf(name).filter((tool) => !tools.includes(tool))
    if (missing.length > 0)
      throw new UserError(
        `${name} needs ${missing.join(' and ')}, which is not essential in Debian`,
        `add --tools ${[...tools, ...missing].join(',')} if sandboxes have it or can install it`,
      )
  }
}

function composeSource({
  count,
  first,
  domains,
  operations,
  without = [],
  levels,
  tools,
  wordings,
  wrong,
}: z.output<typeof options>): Source<TaskDraft> {
  return {
    kind: 'source',
    gives: 'task',
    async *rows({ seed, signal }): AsyncGenerator<TaskDraft | Dropped> {
      const seen = new Set<string>()
      const kept = (operations ?? operationNames).filter((name) => !without.includes(name))
      const only = { ...(domains && { domains }), operations: kept, ...(levels && { levels }), tools, wordings }
      for (let index = first; index < first + count; index++) {
        signal.throwIfAborted()
        const isWrong = makeDraws(seed, `wrong/${index}`).chance(wrong)
        const draft = (isWrong ? composeWrongTask : composeTask)({ seed, index, ...only })
        const marks = [draft.instruction, environmentDigest(draft.files)]
        if (marks.some((mark) => seen.has(mark))) yield { drop: 'duplicate-task', id: draft.name }
        else yield draft
        for (const mark of marks) seen.add(mark)
      }
    },
  }
}
