import type { Draws } from 'ot-agent'
import { nouns, plainWords } from '../words.ts'
import { byLevel, file, type Operation, type Probe } from '../work.ts'
import { simpleWork } from './simple-work.ts'

interface Script {
  readonly name: string
  readonly spec: readonly [usual: string, ...others: string[]]
  readonly good: string
  /** The correct text, and what a broken copy has instead. */
  readonly bugs: readonly (readonly [right: string, wrong: string])[]
  /** Input that triggers every bug, the command-line arguments, and the expected output. */
  readonly example: (random: Draws) => { readonly input: string; readonly args: string; readonly stdout: string }
}

const word = (random: Draws) => random.pick(plainWords)
const numbers = (random: Draws) => [
  -random.int(10, 99),
  ...Array.from({ length: random.int(5, 12) }, () => random.int(2, 900)),
  1000,
  99,
]

const scripts: readonly Script[] = [
  {
    name: 'column-sum',
    spec: [
      'prints the sum of the whole numbers in column N (counted from 1) of FILE, whose columns are separated by single spaces. The last line may lack its line feed and counts all the same. It is called as `FILE N`',
      'adds up the whole numbers in column N of FILE and prints their sum. The columns are separated by single spaces and counted from 1. A last line without a line feed at its end counts like any other. The arguments of the script are `FILE N`',
      'takes the arguments `FILE N` and prints one number, the total of the whole numbers in column N of FILE. A single space separates a column from the next, and the first column is number 1. If FILE does not end with a line feed, its last line still counts',
      'totals a column of whole numbers: from the lines of FILE, in which the columns have single spaces between them, it takes what is in column N (the first column is 1, not 0), adds it all and prints the sum. The last line is included even if there is no line feed after it. The call has the arguments `FILE N`',
      'gets `FILE N` as its arguments. FILE has columns with single spaces in between, and the script prints the sum of column N, which holds whole numbers; columns are numbered from 1. Whether or not the last line ends with a line feed, it is part of the sum',
    ],
    good: 'total=0\nwhile read -r line || [ -n "$line" ]; do\n  value=$(printf %s "$line" | cut -d " " -f "$2")\n  total=$((total + value))\ndone < "$1"\necho "$total"\n',
    bugs: [
      [' || [ -n "$line" ]', ''],
      ['-f "$2"', '-f "$1"'],
      ['total + value', 'value'],
      ['< "$1"', '< $1'],
    ],
    example: (random) => {
      const rows = numbers(random).map((number) => [word(random), number, random.int(1, 50), 7])
      const column = random.pick([2, 3])
      const stdout = `${rows.reduce((sum, row) => sum + Number(row[column - 1]), 0)}\n`
      return { input: rows.map((row) => row.join(' ')).join('\n'), args: String(column), stdout }
    },
  },
  {
    name: 'first-seen',
    spec: [
      'prints the lines of FILE, each different line once, in the order in which they first appear; upper and lower case are different. It is called as `FILE`',
      'prints FILE without the lines that already occurred further up; the others keep their order. Lines that differ only in upper and lower case are different lines. The argument of the script is `FILE`',
      'takes the argument `FILE` and prints each distinct line of FILE a single time, in the order of first occurrence. It distinguishes upper and lower case',
      'drops duplicate lines without sorting: of equal lines in FILE only the first is printed, and what is printed has the order of the file. Lines are equal only if upper and lower case agree, too. The call has one argument, `FILE`',
      'reads FILE from top to bottom and prints a line whenever exactly that line, in the same upper and lower case, has not come before. It gets `FILE` as its argument',
    ],
    good: 'awk \'!seen[$0]++\' "$1"\n',
    bugs: [
      ['awk \'!seen[$0]++\' "$1"', 'sort -u "$1"'],
      ['seen[$0]', 'seen[tolower($0)]'],
      ['!seen', 'seen'],
      ['"$1"', '$1'],
    ],
    example: (random) => {
      const words = random.few(plainWords, random.int(5, 9)).sort().reverse()
      const all = [...words, (words[0] ?? '').toUpperCase(), ...random.few(words, 4)]
      return {
        input: all.map((line) => `${line}\n`).join(''),
        args: '',
        stdout: [...new Set(all)].map((line) => `${line}\n`).join(''),
      }
    },
  },
  {
    name: 'line-range',
    spec: [
      'prints the lines of FILE from number FROM to number TO, both included and counted from 1. It is called as `FILE FROM TO`',
      'takes the arguments `FILE FROM TO` and prints a part of FILE, from line FROM up to line TO. The first line of FILE is number 1, and both line FROM and line TO are printed',
      'prints each line of FILE whose number is at least FROM and at most TO, where the numbers begin at 1. The arguments of the script are `FILE FROM TO`',
      'outputs a range of lines of FILE. It begins with line FROM and ends with line TO; these two are part of it, and line numbers start at 1. The call has the arguments `FILE FROM TO`',
      'gets `FILE FROM TO` as its arguments. It skips the lines of FILE before number FROM and prints the rest up to and including number TO, counting lines from 1',
    ],
    good: 'count=$(($3 - $2 + 1))\ntail -n "+$2" -- "$1" | head -n "$count"\n',
    bugs: [
      ['$3 - $2 + 1', '$3 - $2'],
      ['"+$2"', '"$2"'],
      ['head -n', 'tail -n'],
      ['"$1"', '$1'],
    ],
    example: (random) => {
      const all = Array.from({ length: random.int(12, 25) }, (_, at) => `${at} ${word(random)}`)
      const [from, to] = [random.int(2, 5), random.int(6, 9)]
      return {
        input: all.map((line) => `${line}\n`).join(''),
        args: `${from} ${to}`,
        stdout: all
          .slice(from - 1, to)
          .map((line) => `${line}\n`)
          .join(''),
      }
    },
  },
  {
    name: 'extremes',
    spec: [
      'prints the smallest and the largest whole number of FILE, which has one on each line and may have negative ones, as `MIN MAX`. It is called as `FILE`',
      'takes the argument `FILE`, a file with one whole number per line, some of which may be negative, and prints the smallest and the largest of them as `MIN MAX`',
      'finds the minimum and the maximum of the whole numbers in FILE, which stand on a line each and can be below zero, and prints them in the form `MIN MAX`. The argument of the script is `FILE`',
      'prints `MIN MAX`, where MIN is the lowest and MAX the highest number in FILE. Every line of FILE has one whole number, which may be negative. The call has one argument, `FILE`',
      'gets `FILE` as its argument. There is a whole number on each line of FILE, negative ones among them perhaps; the output is the least and the greatest of them, as `MIN MAX`',
    ],
    good: 'sorted=$(sort -n "$1")\nmin=$(printf \'%s\\n\' "$sorted" | head -n 1)\nmax=$(printf \'%s\\n\' "$sorted" | tail -n 1)\necho "$min $max"\n',
    bugs: [
      ['sort -n "$1"', 'sort "$1"'],
      ['head -n 1', 'head -n 2 | tail -n 1'],
      ['echo "$min $max"', 'echo "$max $min"'],
      ['-n "$1"', '-n $1'],
    ],
    example: (random) => {
      const all = random.shuffle(numbers(random))
      return {
        input: all.map((number) => `${number}\n`).join(''),
        args: '',
        stdout: `${Math.min(...all)} ${Math.max(...all)}\n`,
      }
    },
  },
]

const repair: Operation = {
  name: 'repair-script',
  domains: ['scripts'],
  make: (draw) => {
    const { random, words, level, root } = draw
    const script = random.pick(scripts)
    const path = `${random.pick(['bin/', '', 'tools/'])}${random.pick(nouns)}.sh`
    let body = script.good
    const bugs = random.few(script.bugs, byLevel(level, 1, 2, 4)).filter(([right, wrong]) => {
      const isThere = body.includes(right)
      body = body.replace(right, () => wrong)
      return isThere
    })
    const hidden: Record<string, string> = {}
    const probes = [1, 2, 3].map((nth): Probe => {
      const { input, args, stdout } = script.example(random)
      // A space in the name, because a careless script trips over it.
      const name = `case ${nth}.txt`
      hidden[name] = input
      return { command: `cd "$scratch" && bash "${root}/${path}" "$hidden/${name}" ${args}`, stdout }
    })
    const shown = script.example(random)
    const sample = `${random.pick(nouns)}.txt`
    const head = '#!/bin/bash\n'
    const args = shown.args === '' ? '' : ` ${shown.args}`
    const spec = words.say(script.spec[0], script.spec.slice(1))
    const ask = [
      words.say(
        random.pick([
          `\`${root}/${path}\` is broken. What it should do: it ${spec}.`,
          `Somebody changed \`${root}/${path}\` and now its output is wrong. The script ${spec}.`,
        ]),
        [
          `Something is wrong with \`${root}/${path}\`. This is its job: it ${spec}.`,
          `Please fix \`${root}/${path}\`, which does not work properly. When it is right, it ${spec}.`,
          `The output of \`${root}/${path}\` is not what it should be. According to its description, the script ${spec}.`,
          `\`${root}/${path}\` does not do what it is meant for. It should be a script that ${spec}.`,
          `There are one or more mistakes in \`${root}/${path}\`. A correct version of it ${spec}.`,
        ],
      ),
      words.say(
        random.pick([
          `Repair it, or write it anew at the same path, as a bash script. For example, \`bash ${root}/${path} ${root}/${sample}${shown.args === '' ? '' : ` ${shown.args}`}\` must print what the description says. It is tried on other files, whose names may contain spaces, from another folder.`,
          `Make it right (there may be more than one mistake). Try it with \`bash ${root}/${path} ${root}/${sample}${shown.args === '' ? '' : ` ${shown.args}`}\`; it will then be called with other files, also with spaces in their names, and from elsewhere.`,
        ]),
        [
          `Correct it, whether it has one mistake or several, or replace it by a new bash script at the same path. When called as \`bash ${root}/${path} ${root}/${sample}${args}\`, for example, it must print what is described above. It will also be run from a different folder and on other files, which may have spaces in their names.`,
          `A working bash script has to be at that path in the end, be it this one repaired or one written from scratch. \`bash ${root}/${path} ${root}/${sample}${args}\` is a call to try it with, and must give the output described. The script will then be run with other files, some perhaps with spaces in their names, and from another folder.`,
          `Can you get it to work? There may be more than one thing to fix, and you are free to write a new bash script in its place, at the same path. Test it with \`bash ${root}/${path} ${root}/${sample}${args}\`, which must do as described; the real calls are made from elsewhere, for other files, and there can be spaces in the names of those.`,
          `What counts is that the bash script at this path works as described, whether you mend the old one or write it afresh: with \`bash ${root}/${path} ${root}/${sample}${args}\`, and just as well with other files, with file names that contain spaces, and from any other folder.`,
        ],
      ),
    ]
    return simpleWork(draw, {
      domain: 'scripts',
      operation: 'repair-script',
      shape: script.name,
      faults: bugs.map(() => 'script-bug'),
      ask,
      before: { [path]: file(`${head}${body}`, '755'), [sample]: file(shown.input) },
      after: { [path]: { kind: 'some' }, [sample]: file(shown.input) },
      probes,
      hidden,
      solve: `cat > ${path} <<'END_OF_SCRIPT'\n${head}${script.good}END_OF_SCRIPT`,
    })
  },
}

const day = 86_400_000
const iso = (time: number) => new Date(time).toISOString()

const missingDays: Operation = {
  name: 'missing-days',
  hardest: 'easy',
  domains: ['dates'],
  make: (draw) => {
    const { random, words, level, root } = draw
    const start = Date.UTC(random.int(2015, 2025), random.int(0, 11), random.int(1, 28))
    const days = Array.from({ length: byLevel(level, 25, 60, 150) }, (_, at) => iso(start + at * day).slice(0, 10))
    const gone = new Set(random.few(days.slice(1, -1), byLevel(level, 4, 9, 20)))
    const stem = random.pick(['backup', 'dump', 'snapshot', 'export'])
    const there = random.shuffle(days.filter((one) => !gone.has(one)))
    const [list, out] = [random.pick(['files.txt', 'listing.txt']), random.pick(['missing.txt', 'gaps.txt'])]
    const text = there.map((one) => `${stem}-${one.replaceAll('-', '')}.tar.gz\n`).join('')
    const ask = [
      words.say(
        random.pick([
          `\`${root}/${list}\` lists daily files, in no order, named like \`${stem}-20240131.tar.gz\`. Between the first and the last day in it some days have no file. Write those days to \`${root}/${out}\` as YYYY-MM-DD, one per line, earliest first.`,
          `Every day a file such as \`${stem}-20240131.tar.gz\` should have been made; \`${root}/${list}\` has the names of those that exist. Which days between the earliest and the latest of them are missing? Write them to \`${root}/${out}\`, in the form YYYY-MM-DD, in order, one per line.`,
        ]),
        [
          `For which days is there no file? \`${root}/${list}\` has the names of files that were made daily, such as \`${stem}-20240131.tar.gz\` for 2024-01-31, in no particular order. Consider the days between the first and the last one that occur there, and write those without a file to \`${root}/${out}\`: one per line, as YYYY-MM-DD, in ascending order.`,
          `\`${root}/${out}\` should show the gaps in a series of daily files. Each line of it is a day in the form YYYY-MM-DD that lies between the earliest and the latest day in \`${root}/${list}\` but has no file there; the earliest missing day comes first. The names in \`${root}/${list}\` look like \`${stem}-20240131.tar.gz\` and are not sorted.`,
          `Please go through the file names in \`${root}/${list}\`. Each has a date in it (\`${stem}-20240131.tar.gz\` is the one of 31 January 2024), they come in no order, and from the oldest to the newest date there should be one for every day. Write the dates that are missing in between to \`${root}/${out}\`, oldest first, a line each, in the form YYYY-MM-DD.`,
          `Input: \`${root}/${list}\`, unsorted names of daily files like \`${stem}-20240131.tar.gz\` (year, month, day). Output: \`${root}/${out}\`, all days after the first and before the last day of the input for which it has no name. Form of the output: YYYY-MM-DD, one day per line, sorted from early to late.`,
        ],
      ),
    ]
    return simpleWork(draw, {
      domain: 'dates',
      operation: 'missing-days',
      shape: 'names',
      ask,
      before: { [list]: file(text) },
      after: {
        [list]: file(text),
        [out]: file(
          days
            .filter((one) => gone.has(one))
            .map((one) => `${one}\n`)
            .join(''),
        ),
      },
      solve: `days=$(sed -E 's/.*-([0-9]{4})([0-9]{2})([0-9]{2})[.].*/\\1-\\2-\\3/' ${list} | sort)
now=$(printf '%s\\n' "$days" | sed -n 1p)
last=$(printf '%s\\n' "$days" | tail -n 1)
while [ "$now" != "$last" ]; do
  case $'\\n'$days$'\\n' in *$'\\n'$now$'\\n'*) ;; *) echo "$now" ;; esac
  now=$(date -u -d "$now + 1 day" +%F)
done > ${out}`,
    })
  },
}

const epochs: Operation = {
  name: 'epoch-to-iso',
  domains: ['dates'],
  make: (draw) => {
    const { random, words, level, root } = draw
    const records = Array.from({ length: byLevel(level, 8, 20, 50) }, () => ({
      at: random.int(1_000_000_000, 1_750_000_000),
      event: random.few(plainWords, 2).join(' '),
    }))
    const hours = random.pick([0, 0, 1, 2, -5, 9])
    const zone = `${hours < 0 ? '-' : '+'}${String(Math.abs(hours)).padStart(2, '0')}:00`
    const [name, out] = [`${random.pick(nouns)}.log`, random.pick(['readable.log', 'events.txt', 'timeline.txt'])]
    const shown = records
      .toSorted((a, b) => a.at - b.at)
      .map(
        ({ at, event }) =>
          `${iso((at + hours * 3600) * 1000)
            .slice(0, 19)
            .replace('T', ' ')} ${event}\n`,
      )
    if (new Set(records.map(({ at }) => at)).size < records.length) return null
    const text = records.map(({ at, event }) => `${at} ${event}\n`).join('')
    const ask = [
      words.say(
        random.pick([
          `The lines of \`${root}/${name}\` begin with seconds since 1970-01-01 00:00:00 UTC. Write them to \`${root}/${out}\` in the order of time, with that number replaced by date and time as \`YYYY-MM-DD HH:MM:SS\` in the fixed zone UTC${zone}; the rest of each line stays.`,
          `Make \`${root}/${name}\` readable: turn the Unix time at the beginning of each line into \`YYYY-MM-DD HH:MM:SS\` (as clocks in UTC${zone} show it, no summer time), keep what follows, sort by time, and save the result as \`${root}/${out}\`.`,
        ]),
        [
          `Each line of \`${root}/${name}\` starts with a Unix time, in seconds since 1970-01-01 00:00:00 UTC. Replace it by the date and time in the form \`YYYY-MM-DD HH:MM:SS\`, for a zone that is always UTC${zone}, without summer time. Sort the lines by time, earliest first, leave the rest of each line as it is, and write it all to \`${root}/${out}\`.`,
          `\`${root}/${out}\` should have the lines of \`${root}/${name}\` in the order of time, from the earliest to the latest. Instead of the number at the beginning, which counts seconds since 1970-01-01 00:00:00 UTC, a line there begins with \`YYYY-MM-DD HH:MM:SS\`, the same moment in the fixed zone UTC${zone}. Everything after the number is kept.`,
          `When did the events in \`${root}/${name}\` happen? Their lines begin with the seconds since 1970-01-01 00:00:00 UTC. Please produce \`${root}/${out}\`, where that number has become date and time, \`YYYY-MM-DD HH:MM:SS\`, in UTC${zone} all year round, what follows it is the same, and the lines go from the oldest to the newest.`,
          `Input: \`${root}/${name}\`; the first thing on a line is a Unix time in seconds. Output: \`${root}/${out}\`, the same lines sorted by that time in ascending order, with the time written as \`YYYY-MM-DD HH:MM:SS\` at the constant offset UTC${zone} (no summer time) and the rest of the line unchanged.`,
        ],
      ),
    ]
    return simpleWork(draw, {
      domain: 'dates',
      operation: 'epoch-to-iso',
      shape: 'log',
      ask,
      before: { [name]: file(text) },
      after: { [name]: file(text), [out]: file(shown.join('')) },
      solve: `sort -n ${name} | while read -r at event; do printf '%s %s\\n' "$(date -u -d "@$((at + ${hours * 3600}))" '+%F %T')" "$event"; done > ${out}`,
    })
  },
}

/** Operations on scripts and dates. */
export const scriptOperations: readonly Operation[] = [repair, missingDays, epochs]
