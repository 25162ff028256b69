import { definePipeline, z } from 'ot-agent'
import puzzles from './puzzles/index.ts'

const options = z.object({
  count: z.int().min(1).default(36).describe('how many puzzles to invent'),
  first: z.int().min(0).default(0).describe('where in the sample to begin'),
  families: z.array(z.string()).optional().describe('only these kinds, for example sudoku,maze'),
  levels: z.array(z.string()).optional().describe('only these: easy,medium,hard'),
})

/** Puzzles generated from a seed alone; each check accepts every correct answer. */
export default definePipeline({
  name: 'all-puzzles',
  summary: 'Puzzles of twelve kinds, invented offline, with checks that accept every right answer',
  options,
  // Puzzles are invented here: published ones come with a single answer in words, too little for an exact check.
  source: { fixture: { use: puzzles, with: ({ options }) => options }, real: null },
  strategy: 'puzzles',
})
