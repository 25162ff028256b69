import { definePipeline, z } from 'ot-agent'
import traceTests from './trace-tests.ts'

/** Agent traces on tasks without tests: a model writes the tests, and the trace has to pass them. */
export default definePipeline({
  name: 'trace-to-tests',
  summary: 'Tests for tasks that have none, written from what an agent did and proven by doing it again',
  options: z.strictObject({
    repairs: z.number().int().min(0).default(3).describe('how often the model may repair tests that fail'),
  }),
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'trial_name' } },
    real: { use: 'sources/hub', with: { repo: 'open-thoughts/OpenThoughts-Agent-v1-SFT' } },
  },
  needsModel: true,
  make: {
    use: traceTests,
    with: ({ options: { repairs } }) => ({ pipeline: 'trace-to-tests', repairs }),
  },
})
