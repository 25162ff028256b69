import { programName } from '../lib/program-name.ts'

/**
 * The first words of all commands. This is a copy, because command files import this one; a test compares it with the
 * commands.
 */
export const firstWords =
  'demo run jobs tasks agents sandboxes engines generate traces hub recipe benchmarks launch eval ablate registry serve view doctor clean completion'.split(
    ' ',
  )
const named = new RegExp(`(?<![\\w./-]|npx )ot-agent (?=(?:${firstWords.join('|')})\\b)`, 'g')

/**
 * Rewrites our commands in a text so that a reader can paste them: messages say `ot-agent run`, which is not always on
 * the PATH.
 */
export function copyable(text: string): string {
  const name = programName()
  return text.replaceAll(named, () => `${name} `)
}
