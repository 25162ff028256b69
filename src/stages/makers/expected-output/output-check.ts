import { sandboxPaths } from '../../../core/task-paths.ts'

/** Insignificant differences in a program's output, by name; each is a sed expression. */
export const normalisers = {
  /** Line ends of other systems, and trailing blanks. */
  'line-ends': 's/[[:space:]]*$//',
  /** Treats runs of blanks as one, and ignores leading ones. */
  blanks: String.raw`s/[[:space:]]\{1,\}/ /g; s/^ //`,
  /** Expands a tab to the next multiple of eight columns, as it appears on a page. */
  tabs: String.raw`:tab
s/\t/ \x01/
:pad
/\x01/{
/^\([^\x01]\{8\}\)*\x01/!{
s/\x01/ \x01/
b pad
}
s/\x01//
b tab
}`,
  /** Colours and other terminal escape sequences. */
  colours: String.raw`s/\x1b\[[0-9;]*[A-Za-z]//g`,
  /** Values that depend on the disk: the total line of ls -l, and directory sizes in ls -l and du. */
  sizes: String.raw`/^total [0-9][0-9.]*[KMG]\{0,1\}$/d; s/^\(d[rwxstST-]\{9\}[.+]\{0,1\} *[0-9]* *[^ ]* *[^ ]* *\)[0-9.]*[KMG]\{0,1\} /\1DIRSIZE /; s/^[0-9.]*[KMG]\{0,1\}\t\(.*\/\|\.\)$/DIRSIZE\t\1/`,
} as const
export const normaliserNames = Object.keys(normalisers) as (keyof typeof normalisers)[]
export type Normaliser = keyof typeof normalisers

export interface OutputCheck {
  /** Where the agent's script is. */
  readonly file: string
  readonly interpreter: 'bash' | 'python3'
  readonly normalise: readonly Normaliser[]
  /** `any`: the order of lines does not matter. */
  readonly order: 'same' | 'any'
  readonly caseSec: number
}

/**
 * The test script for comparing a script with a reference. The reference runs first, on every case, and is deleted
 * before the agent's script runs. The reference must print the output shown, and not the same in every case; otherwise
 * nothing earns a reward.
 */
export function renderOutputTest({ file, interpreter, normalise, order, caseSec }: OutputCheck): string {
  const { tests, verifierLogs } = sandboxPaths
  const sed = ['line-ends' as const, ...normalise].map((name) => `-e '${normalisers[name]}'`).join(' ')
  return `#!/bin/bash
# What ${file} prints must be what the reference prints, in every case.
reward=0
work=$(mktemp -d)
cp -R ${tests}/cases "$work/cases"
normalise() { head -c 1000000 | tr -d '\\000' | sed ${sed} | sed -e ':a' -e '/^\\n*$/{$d;N;ba' -e '}'${order === 'any' ? ' | LC_ALL=C sort' : ''}; }
# run SCRIPT CASE: what the script prints, in a folder of its own
run() {
  local dir args=()
  dir=$(mktemp -d "$work/run.XXXXXX")
  [ -d "$work/cases/$2/files" ] && cp -R "$work/cases/$2/files/." "$dir"
  mapfile -t args < "$work/cases/$2/args"
  (cd "$dir" && LC_ALL=C.UTF-8 timeout ${caseSec} ${interpreter} "$1" "\${args[@]}" < "$work/cases/$2/stdin" 2> /dev/null)
}
names=() wanted=()
for case in "$work"/cases/*; do
  name=$(basename "$case")
  printed=$(run ${tests}/reference "$name"; echo "status $?")
  [ "\${printed##*status }" = 0 ] || continue
  printed=$(printf '%s' "\${printed%status 0}" | normalise)
  [ -n "$printed" ] || continue
  names+=("$name") wanted+=("$printed")
done
shown=$([ ! -f ${tests}/expected.txt ] || normalise < ${tests}/expected.txt)
rm -f ${tests}/reference ${tests}/expected.txt
differ=0
for printed in "\${wanted[@]}"; do [ "$printed" = "\${wanted[0]}" ] || differ=1; done
if [ "\${names[0]}" = 00 ] && [ "$differ" = 1 ] && { [ -z "$shown" ] || [ "$shown" = "\${wanted[0]}" ]; }; then
  if [ -f ${file} ] && [ ! -L ${file} ]; then
    right=0
    for i in "\${!names[@]}"; do
      [ "$(run ${file} "\${names[$i]}" | normalise)" = "\${wanted[$i]}" ] && right=$((right + 1))
    done
    [ "$right" = "\${#names[@]}" ] && reward=1
    echo "$right of \${#names[@]} cases are right"
  fi
fi
echo "$reward" > ${verifierLogs}/reward.txt
`
}
