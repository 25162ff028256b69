import { type Dropped, definePlugin, makeDraws, type Source, type TaskDraft, z } from 'ot-agent'
import { composeTask, composeWrongTask, domainNames, environmentDigest, operationNames } from './compose-task.ts'
import { levels } from './work.ts'

const options = z.strictObject({
  count: z.int().min(1).default(100).describe('How many tasks.'),
  first: z.int().min(0).default(0).describe('Where in the sample to begin: tasks `first` to `first + count - 1`.'),
  domains: z.array(z.enum(domainNames)).min(1).optional().describe('Only these domains (default: all).'),
  operations: z.array(z.enum(operationNames)).min(1).optional().describe('Only these operations (default: all).'),
  without: z.array(z.enum(operationNames)).min(1).optional().describe('All operations but these.'),
  levels: z.array(z.enum(levels)).min(1).optional(),
  wrong: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe('Share of tasks that ask for something other than they check, to study defective data.'),
})

/** Terminal tasks drawn from domain x operation x data shape x constraints x fault, with exact tests, without a model. */
export default definePlugin<Source<TaskDraft>, typeof options>({
  name: 'compose',
  summary: 'Terminal tasks composed from tables of domains, operations, shapes, constraints and faults',
  options,
  make: ({ count, first, domains, operations = operationNames, without = [], levels, wrong }) => ({
    kind: 'source',
    gives: 'task',
    async *rows({ seed, signal }): AsyncGenerator<TaskDraft | Dropped> {
      const seen = new Set<string>()
      const kept = operations.filter((name) => !without.includes(name))
      const only = { ...(domains && { domains }), operations: kept, ...(levels && { levels }) }
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
  }),
})
