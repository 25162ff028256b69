import { definePipeline, z } from 'ot-agent'
import selfInstruct from './self-instruct.ts'

/** Example ideas: short, self-contained, with results that a program can judge. */
const examples = [
  {
    name: 'merge-sorted-logs',
    description:
      'Three log files are each sorted by time but written in different time zones. Merge them into one file in UTC, sorted, without duplicates. Done when every line is there once and in order.',
    difficulty: 'medium',
  },
  {
    name: 'rename-by-date',
    description:
      'A folder of notes has a line "Date: D Month YYYY" in each file. Rename every file to YYYY-MM-DD-oldname. Done when all names follow from the dates and no content changed.',
    difficulty: 'easy',
  },
  {
    name: 'repair-csv-quotes',
    description:
      'An export has unescaped quotes inside quoted cells. Write a cleaned CSV that a strict reader accepts, with the same number of records and every cell kept. Done when each record has the same number of cells.',
    difficulty: 'medium',
  },
  {
    name: 'shell-job-queue',
    description:
      'Write a shell program that runs the jobs of a file, at most N at once, retries a job that fails up to twice, and writes a report of exit codes. Done when test queues of jobs give the right reports.',
    difficulty: 'hard',
  },
  {
    name: 'find-config-drift',
    description:
      'Two folders hold key=value settings of two machines. Write a report of keys that differ or are missing on one side, sorted by file and key. Done when the report lists exactly these.',
    difficulty: 'easy',
  },
]

/** Pages of text inspire ideas; a model turns each into a task and proves it in a sandbox. */
export default definePipeline({
  name: 'self-instruct',
  summary: 'Tasks that a model invents: ideas inspired by a text, from easy to hard, each with tests and a solution',
  options: z.strictObject({
    ideas: z.number().int().min(1).max(10).default(1).describe('ideas of each text; more than one is a course'),
    shots: z.number().int().min(0).max(examples.length).default(3).describe('examples that are shown'),
    repairs: z.number().int().min(0).default(2).describe('how often the model may repair a task that fails'),
  }),
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'id' } },
    real: { use: 'sources/hub', with: { repo: 'HuggingFaceFW/fineweb-edu', config: 'sample-10BT' } },
  },
  needsModel: true,
  make: {
    use: selfInstruct,
    with: ({ options }) => ({ pipeline: 'self-instruct', seed: '{{text}}', examples, ...options }),
  },
})
