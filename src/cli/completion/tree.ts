import type { Group } from '../command-table.ts'

/** An option of a command, as a shell completes it. */
export interface CompletedOption {
  /** For example `-n` and `--n-concurrent`. */
  readonly flags: readonly string[]
  readonly takesValue: boolean
  readonly choices: readonly string[]
  readonly summary: string
}

/** What can follow a command: subcommands, options, and the values of its first argument. */
export interface CompletedCommand {
  /** The words of the command, without the program name: `['jobs', 'show']`. */
  readonly words: readonly string[]
  readonly below: readonly (readonly [name: string, summary: string])[]
  readonly options: readonly CompletedOption[]
  readonly choices: readonly string[]
}

/** Every command with its options, starting with the program itself. */
export async function completionTree(group: Group, words: readonly string[] = []): Promise<CompletedCommand[]> {
  const below = Object.entries(group).map(([name, { summary }]) => [name, summary] as const)
  const own: CompletedCommand[] = words.length === 0 ? [{ words, below, options: [], choices: [] }] : []
  const nested = Object.entries(group).map(async ([name, entry]) => {
    const path = [...words, name]
    const inner = 'group' in entry ? entry.group : {}
    const command = entry.load === undefined ? null : (await entry.load()).default()
    const options = (command?.options ?? []).filter(({ hidden }) => !hidden)
    const node: CompletedCommand = {
      words: path,
      below: Object.entries(inner).map(([below, { summary }]) => [below, summary] as const),
      options: options.map((option) => ({
        flags: [option.short, option.long].filter((flag) => flag !== undefined),
        takesValue: option.required || option.optional,
        choices: (option.argChoices ?? []).filter(isPlain),
        summary: firstLine(option.description),
      })),
      choices: (command?.registeredArguments[0]?.argChoices ?? []).filter(isPlain),
    }
    return [node, ...(await completionTree(inner, path))]
  })
  return [...own, ...(await Promise.all(nested)).flat()]
}

/** True for a word that needs no quotes in any shell. */
function isPlain(word: string): boolean {
  return /^[\w.:@+-]+$/.test(word)
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? ''
}
