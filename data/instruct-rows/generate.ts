import { definePipeline, z } from 'ot-agent'
import { datasets, names } from './datasets.ts'

/** Question-and-answer datasets, each with its own template; rows whose answer cannot be checked are left out. */
export default definePipeline({
  name: 'instruct-rows',
  summary: 'Instructions of plain question-and-answer datasets, with a real check of the answer',
  options: z.strictObject({
    dataset: z
      .enum(names)
      .default('gsm8k')
      .describe(`one of ${names.join(', ')}`),
    maxChars: z.number().int().min(1).default(20_000).describe('longer instructions are skipped'),
  }),
  source: {
    fixture: {
      use: 'sources/file',
      with: ({ options: { dataset } }) => ({
        path: `fixtures/${dataset}.jsonl`,
        source: dataset,
        ...(datasets[dataset].id && { id: datasets[dataset].id }),
      }),
    },
    real: {
      use: 'sources/hub',
      with: ({ options: { dataset } }) => ({
        ...datasets[dataset].hub,
        source: dataset,
        ...(datasets[dataset].id && { id: datasets[dataset].id }),
      }),
    },
  },
  split: (row, { options: { dataset } }) => datasets[dataset].split?.(row) ?? [row],
  make: {
    use: 'makers/row-template',
    with: ({ options: { dataset, maxChars } }) => ({ pipeline: dataset, maxChars, ...datasets[dataset].template }),
  },
})
