import type { CompletedCommand, CompletedOption } from './tree.ts'

/** Shells that have a script. */
export const shells = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof shells)[number]

/** A script that completes our commands in a shell. It starts no program, so a key press is instant. */
export function renderCompletion(shell: Shell, tree: readonly CompletedCommand[]): string {
  return { bash: renderBash, zsh: renderZsh, fish: renderFish }[shell](tree)
}

/** The words of a command as the scripts compare them, each preceded by a space: ` jobs show`. */
const keyOf = ({ words }: CompletedCommand) => words.map((word) => ` ${word}`).join('')

/** The `case` patterns that match words which continue a command's name. */
const known = (tree: readonly CompletedCommand[]) =>
  tree.flatMap((command) => (command.words.length === 0 ? [] : [`'${keyOf(command)}'`]))

const valued = (options: readonly CompletedOption[]) => options.filter(({ takesValue }) => takesValue)

/** Arms of `case "$at:$before"`: what follows an option that takes a value. Without choices it is a file name. */
function valueArms(tree: readonly CompletedCommand[], offer: (choices: readonly string[]) => string): string[] {
  return tree.flatMap((command) =>
    valued(command.options).map(
      ({ flags, choices }) =>
        `    ${flags.map((flag) => `'${keyOf(command)}:${flag}'`).join('|')}) ${offer(choices)} ;;`,
    ),
  )
}

function renderBash(tree: readonly CompletedCommand[]): string {
  const arms = tree.map((command) => {
    const flags = [...command.options.flatMap((option) => option.flags), '--help']
    const names = [...command.below.map(([name]) => name), ...command.choices]
    return `    '${keyOf(command)}') flags='${flags.join(' ')}' names='${names.join(' ')}' ;;`
  })
  return `# Completes ot-agent in bash; written by: ot-agent completion bash
_ot_agent() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} at='' flags='' names='' i
  COMPREPLY=()
  if [ "$before" = = ]; then before=\${COMP_WORDS[COMP_CWORD-2]}; fi
  if [ "$current" = = ]; then before=\${COMP_WORDS[COMP_CWORD-1]} current=''; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
      ${known(tree).join('|')}) at="$at \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at:$before" in
${valueArms(tree, (choices) => (choices.length === 0 ? 'return' : `COMPREPLY=($(compgen -W '${choices.join(' ')}' -- "$current")); return`)).join('\n')}
  esac
  case "$at" in
${arms.join('\n')}
  esac
  if [[ $current == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$current"))
  else COMPREPLY=($(compgen -W "$names" -- "$current")); fi
}
complete -o bashdefault -o default -F _ot_agent ot-agent
`
}

function renderZsh(tree: readonly CompletedCommand[]): string {
  const list = (entries: readonly (readonly [string, string])[]) =>
    entries.map(([name, summary]) => quoted(`${name.replaceAll(':', '\\:')}:${summary}`)).join(' ')
  const arms = tree.map((command) => {
    const flags = command.options.flatMap(({ flags, summary }) => flags.map((flag) => [flag, summary] as const))
    const names = [...command.below, ...command.choices.map((name) => [name, ''] as const)]
    const help = ['--help', 'show help'] as const
    return `    '${keyOf(command)}') flags=(${list([...flags, help])}) names=(${list(names)}) ;;`
  })
  return `#compdef ot-agent
# Completes ot-agent in zsh; written by: ot-agent completion zsh
_ot_agent() {
  local at='' before=$words[CURRENT-1] i
  local -a flags names
  for ((i = 2; i < CURRENT; i++)); do
    case "$at $words[i]" in
      ${known(tree).join('|')}) at="$at $words[i]" ;;
    esac
  done
  case "$at:$before" in
${valueArms(tree, (choices) => (choices.length === 0 ? '_files; return' : `compadd -- ${choices.join(' ')}; return`)).join('\n')}
  esac
  case "$at" in
${arms.join('\n')}
  esac
  if [[ $PREFIX == -* ]]; then _describe -o option flags
  elif (( $#names )); then _describe command names
  else _files; fi
}
if [ "$funcstack[1]" = _ot-agent ]; then _ot_agent "$@"; else compdef _ot_agent ot-agent; fi
`
}

function renderFish(tree: readonly CompletedCommand[]): string {
  const lines = tree.flatMap((command) => {
    const when = `complete -c ot-agent -n "__ot_agent_at '${keyOf(command)}'"`
    const names = [...command.below, ...command.choices.map((name) => [name, ''] as const)]
    return [
      ...names.map(([name, summary]) => `${when} -f -a ${name} -d ${fishQuoted(summary)}`),
      ...command.options.map((option) => `${when} ${fishOption(option)}`),
    ]
  })
  return `# Completes ot-agent in fish; written by: ot-agent completion fish
function __ot_agent_at
  set -l at ''
  for word in (commandline -opc)[2..-1]
    switch "$at $word"
      case ${known(tree).join(' ')}
        set at "$at $word"
    end
  end
  test "$at" = "$argv[1]"
end
complete -c ot-agent -l help -d 'show help'
${lines.join('\n')}
`
}

function fishOption({ flags, takesValue, choices, summary }: CompletedOption): string {
  const spelt = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`))
  const value = choices.length > 0 ? `-x -a ${fishQuoted(choices.join(' '))}` : takesValue ? '-r' : ''
  return [...spelt, value, `-d ${fishQuoted(summary)}`].filter(Boolean).join(' ')
}

/** Quotes a word for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Quotes a word for fish, which knows two escapes inside single quotes. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
