import { sandboxPaths } from '../../../core/task-paths.ts'
import { shellQuote } from '../../../lib/shell.ts'
import type { ShallowSolution } from './shallow-solutions.ts'

const { tests, solution, agentLogs, verifierLogs } = sandboxPaths

/**
 * The kinds of paths: `blank` is a file with nothing but white space, `nowhere` a path whose folder does not exist
 * either.
 */
export const pathKinds = ['dir', 'file', 'blank', 'other', 'absent', 'nowhere'] as const
export type PathKind = (typeof pathKinds)[number]

/** Prints the kind of each path, one per line, then the small files of the working directory. */
export function lookScript(paths: readonly string[]): string {
  return `
for p in ${paths.map(shellQuote).join(' ')}; do
  if [ -d "$p" ]; then echo dir
  elif [ -f "$p" ]; then if grep -q '[^[:space:]]' "$p"; then echo file; else echo blank; fi
  elif [ -e "$p" ]; then echo other
  elif [ -d "$(dirname "$p")" ]; then echo absent
  else echo nowhere
  fi
done
find "$PWD" -xdev -maxdepth 3 -type f -size +0 -size -64k 2>/dev/null | LC_ALL=C sort | head -n 5
`
}

/** The maximum number of bytes read of a file. */
export const madeBytes = 64 * 1024

/** Prints the start of each file as base64, one per line. */
export function readScript(paths: readonly string[]): string {
  return `for p in ${paths.map(shellQuote).join(' ')}; do head -c ${madeBytes} "$p" | base64 -w 0; echo; done`
}

/** Bash: `score N` runs the tests and prints N and the reward as base64, or a dash when there is none. */
function scoreFunction(limitSec: number): string {
  const rewards = ['reward.txt', 'reward.json'].map((name) => `${verifierLogs}/${name}`).join(' ')
  return `
score() {
  rm -f ${rewards}
  ( timeout -k 5 ${limitSec} ${tests}/test.sh ) > /dev/null 2>&1 < /dev/null
  local file paid=-
  for file in ${rewards}; do
    [ "$paid" != - ] || [ ! -f $file ] || paid=\${file##*.}:$(head -c 2000 $file | base64 -w 0)
  done
  echo "$1 $paid"
}`
}

/**
 * If tests take longer than this, only the first few shallow solutions are tried, so that the check does not take many
 * times as long. Measured in processor time, which is more reliable than the clock on a busy machine.
 */
const slowCpuSec = 2
const slowSec = 15
const triesOfSlow = 3

interface Tries {
  readonly solutions: readonly ShallowSolution[]
  /** Files that solutions create. */
  readonly targets: readonly string[]
  /** Existing files that solutions change. */
  readonly kept: readonly string[]
  readonly limitSec: number
}

/** Tries shallow solutions one after the other with the tests in place, and undoes each one's changes. */
export function shallowScript({ solutions, targets, kept, limitSec }: Tries): string {
  const tries = solutions.map(
    ({ script }, nth) => `solve() {\n${script}\n}\n( solve ) > /dev/null 2>&1 < /dev/null\ntry ${nth}`,
  )
  return `${scoreFunction(limitSec)}
targets=(${targets.map(shellQuote).join(' ')})
kept=(${kept.map(shellQuote).join(' ')})
for nth in "\${!kept[@]}"; do cp -p -- "\${kept[nth]}" "/tmp/law-kept-$nth"; done
most=${solutions.length}
# Hundredths of a second of the processor that finished children used.
count_cpu() { local stat=(); read -ra stat < /proc/$$/stat; cpu=$((stat[15] + stat[16])); }
try() {
  [ "$1" -lt "$most" ] || exit 0
  local begin=$SECONDS cpu before nth
  count_cpu; before=$cpu
  score "$1"
  count_cpu
  [ $((SECONDS - begin)) -le ${slowSec} ] && [ $((cpu - before)) -le ${slowCpuSec * 100} ] || most=${triesOfSlow}
  rm -rf -- "\${targets[@]}"
  for nth in "\${!kept[@]}"; do cp -p -- "/tmp/law-kept-$nth" "\${kept[nth]}"; done
}
${tries.join('\n')}
`
}

/** Runs the tests, then again for each file with its lines reversed; the header line of a table stays first. */
export function orderScript(paths: readonly string[], limitSec: number): string {
  const turns = paths.map((path, nth) => {
    const file = shellQuote(path)
    const head = /\.[ct]sv$/.test(path) ? 1 : 0
    return `cp ${file} /tmp/law-order
{ head -n ${head} /tmp/law-order; tail -n +${head + 1} /tmp/law-order | tac; } > ${file}
score ${nth}
cat /tmp/law-order > ${file}`
  })
  return `${scoreFunction(limitSec)}\nscore -1\n${turns.join('\n')}\nrm -f /tmp/law-order\n`
}

/** Where the watched solution's stderr goes. */
const stderrFile = `${agentLogs}/law-stderr.txt`
const pipesFile = `${agentLogs}/law-pipes.txt`
const watchFile = `${agentLogs}/law-watch.sh`

/**
 * Bash checks every pipe of the solution when it ends. A reader that stops early (141) is not a failure, nor is a
 * search without a hit (1).
 */
const watch = `
law_watch() {
  local nth last=$((\${#law_codes[@]} - 1))
  for ((nth = 0; nth < last; nth++)); do
    ((law_codes[nth] < 2 || law_codes[nth] == 141)) || echo "part $((nth + 1)) of $((last + 1)) ended with exit code \${law_codes[nth]}" >> ${pipesFile}
  done
}
set -o functrace
trap 'law_codes=("\${PIPESTATUS[@]}") law_last=$_; [[ \${#law_codes[@]} = 1 ]] || law_watch; : "$law_last"' DEBUG RETURN EXIT
`

/** Runs the solution and watches it. Prints its exit code, then its stderr and the pipes that failed, as base64. */
export function watchScript(): string {
  return `
printf '%s' ${shellQuote(watch)} > ${watchFile}
: > ${pipesFile}
chmod a+rw ${pipesFile}
BASH_ENV=${watchFile} ${solution}/solve.sh > /dev/null 2> ${stderrFile} < /dev/null
echo $?
head -c 20000 ${stderrFile} | base64 -w 0; echo
sort -u ${pipesFile} | head -c 4000 | base64 -w 0; echo
`
}
