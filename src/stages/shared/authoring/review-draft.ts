import type { TaskDraft } from '../../../core/row.ts'

/** Problems that a draft's texts alone reveal, worded for its author; null when there are none. */
export function reviewDraft({ instruction, files }: Pick<TaskDraft, 'instruction' | 'files'>): string | null {
  const text = (path: string) => String(files[path]?.data ?? '')
  const told = givenAway(instruction, text('solution/solve.sh'))
  if (told !== null) return `The instruction gives the solution away: ${JSON.stringify(told)}.`
  const given = Object.keys(files).map((path) => path.replace(/^environment\/(?:app\/)?/, '/app/'))
  const secret = pathsIn(text('tests/test.sh')).find(
    (path) =>
      !instruction.includes(path) && !given.some((file) => file.startsWith(path)) && !isNamed(path, instruction),
  )
  if (secret !== undefined)
    return `The tests look at ${secret}, which the instruction does not name, so that nobody can know about it.`
  return null
}

/** A line of a script that an instruction repeats; everyday lines give nothing away. */
export function givenAway(instruction: string, script: string): string | null {
  const squeezed = squeeze(instruction)
  const lines = script.split('\n').map(squeeze)
  return (
    lines.find((line) => line.length >= 30 && !/^(?:#|cd |mkdir |export )/.test(line) && squeezed.includes(line)) ??
    null
  )
}

/** Paths below /app in a text. */
function pathsIn(text: string): string[] {
  const found = text.match(/\/app\/[\w./-]*\w/g) ?? []
  return [...new Set(found)]
}

/** Instructions often name a file without its path. */
function isNamed(path: string, instruction: string): boolean {
  const name = path.split('/').at(-1) ?? path
  return name.includes('.') && instruction.includes(name)
}

function squeeze(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
