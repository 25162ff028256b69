import { definePipeline, z } from 'ot-agent'
import { readSolutions, shape } from './shape.ts'

/** Codeforces problems with their official tests, judged by the problem's checker where several outputs are correct. */
export default definePipeline({
  name: 'codeforces',
  summary: 'Problems of Codeforces, tried on official tests, with a program of the editorial as the oracle',
  options: z.strictObject({
    language: z.enum(['python', 'cpp']).default('python').describe('python or cpp'),
    maxTests: z.number().int().min(1).default(15).describe('hidden tests that are used'),
    maxRating: z.number().int().min(0).default(0).describe('harder problems are skipped (0: none)'),
    solutions: z.string().default('').describe('JSON lines with id and code: right programs from elsewhere'),
  }),
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'id' } },
    real: { use: 'sources/hub', with: { repo: 'open-r1/codeforces', config: 'verifiable' } },
  },
  split: (row, { options, dir }) => [shape(row, { ...options, others: readSolutions(options.solutions, dir) })],
  make: {
    use: 'makers/io-tests',
    with: ({ options: { language, maxTests } }) => ({ pipeline: 'codeforces', language, maxTests }),
  },
})
