import { definePipeline, z } from 'ot-agent'
import mine from './mine.ts'

/** Filters web pages in stages: most are not tasks, and only promising ones cost a model call. */
export default definePipeline({
  name: 'dclm-mine',
  summary: 'Problems of the shell found in web pages: a score, a classifier, then a model that writes the task out',
  options: z.strictObject({
    minLikeness: z
      .number()
      .min(0)
      .default(8)
      .describe('pages that look less like the shell are skipped without asking the model'),
    maxChars: z.number().int().min(200).default(12_000).describe('longer pages are cut'),
    repairs: z.number().int().min(0).default(2).describe('how often the model may repair a task that fails'),
  }),
  source: {
    fixture: 'fixture.jsonl',
    real: { use: 'sources/hub', with: { repo: 'mlfoundations/dclm-baseline-1.0-parquet' } },
  },
  needsModel: true,
  make: {
    use: mine,
    with: ({ options }) => ({ pipeline: 'dclm-mine', text: '{{text}}', ...options }),
  },
})
