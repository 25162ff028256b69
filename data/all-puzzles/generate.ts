import { definePipeline, z } from 'ot-agent'
import puzzles from './puzzles/index.ts'

const options = z.object({
  count: z.int().min(1).default(36).describe('how many puzzles to invent'),
  first: z.int().min(0).default(0).describe('where in the sample to begin'),
  families: z.array(z.string()).optional().describe('only these kinds, for example sudoku,maze'),
  levels: z.array(z.string()).optional().describe('only these: easy,medium,hard'),
})

/** Puzzles from nothing but a seed; each check accepts every right answer. */
export default definePipeline({
  name: 'all-puzzles',
  summary: 'Puzzles of twelve kinds, invented offline, with checks that accept every right answer',
  options,
  // Puzzles are invented here: published ones come with one answer in words, which no exact check can be made from.
  source: { fixture: { use: puzzles, with: ({ options }) => options }, real: null },
  strategy: 'puzzles',
})
