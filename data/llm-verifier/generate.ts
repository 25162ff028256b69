import { definePipeline, z } from 'ot-agent'
import judged from './judged.ts'

/** Posted jobs whose results only a reader can judge: a model judges by criteria, never inside the sandbox. */
export default definePipeline({
  name: 'llm-verifier',
  summary: 'Work that no program can judge: tests collect the results, and a model judges them by criteria',
  options: z.strictObject({
    maxChars: z.number().int().min(100).default(6000).describe('longer descriptions are skipped'),
    passAt: z.number().min(0).max(1).default(0.75).describe('from this score on a result counts as right'),
  }),
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'id' } },
    // Projects come from the user's own file: there is no public source.
    real: null,
  },
  needsModel: true,
  judged: true,
  make: {
    use: judged,
    with: ({ options }) => ({
      pipeline: 'llm-verifier',
      instruction: '{{title}}\n\n{{description}}',
      ...options,
    }),
  },
})
