import { definePipeline, z } from 'ot-agent'
import teacher from './teacher.ts'

/** What a teacher makes of a command: not the command itself, but work that requires one like it. */
const brief = `Agents are to practise what is behind this shell command.
In words: {{nl}}
The command: {{bash}}

Invent a situation in which somebody needs it, with files of its own, and ask for a result that follows from these files. Do not use the command as it stands: other names, another pattern, another kind of data, and at least one step more. The result is one file whose whole content can be compared.`

/** Pairs of words and commands become tasks that a teacher writes and that must prove themselves in a sandbox. */
export default definePipeline({
  name: 'teacher-authored',
  summary: 'Tasks that a teacher writes around a shell command, repaired until solution and tests agree in a sandbox',
  options: z.strictObject({
    repairs: z.number().int().min(0).max(20).default(4).describe('how often the teacher may repair a task that fails'),
  }),
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'id' } },
    real: { use: 'sources/hub', with: { repo: 'westenfelder/NL2SH-ALFA', config: 'train' } },
  },
  needsModel: true,
  make: {
    use: teacher,
    with: ({ options: { repairs } }) => ({ pipeline: 'teacher-authored', brief, repairs }),
  },
})
