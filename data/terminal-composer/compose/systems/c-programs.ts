import type { Draws } from 'ot-agent'
import { simpleWork } from '../files/simple-work.ts'
import { plainWords } from '../words.ts'
import { byLevel, type Draw, file, type Operation } from '../work.ts'
import { type Bug, breakProgram, drawBugs, repairShell } from './repair.ts'

const makefile = `CC = gcc
CFLAGS = -O1 -Wall

tally: main.o count.o text.o
\t$(CC) -o tally main.o count.o text.o

main.o: main.c count.h text.h
\t$(CC) $(CFLAGS) -c main.c

count.o: count.c count.h
\t$(CC) $(CFLAGS) -c count.c

text.o: text.c text.h
\t$(CC) $(CFLAGS) -c text.c

clean:
\trm -f tally main.o count.o text.o

.PHONY: clean
`

const sources: Readonly<Record<string, string>> = {
  Makefile: makefile,
  'count.h': `#define MOST 1000
#define LONGEST 64
struct entry { char word[LONGEST]; int times; };
extern struct entry entries[MOST];
extern int used;
void count_word(const char *word);
void sort_entries(void);
`,
  'count.c': `#include <stdlib.h>
#include <string.h>
#include "count.h"

struct entry entries[MOST];
int used = 0;

void count_word(const char *word) {
  for (int at = 0; at < used; at++)
    if (strcmp(entries[at].word, word) == 0) { entries[at].times++; return; }
  if (used == MOST) exit(3);
  strcpy(entries[used].word, word);
  entries[used].times = 1;
  used++;
}

static int compare(const void *a, const void *b) {
  const struct entry *x = a, *y = b;
  if (x->times != y->times) return y->times - x->times;
  return strcmp(x->word, y->word);
}

void sort_entries(void) { qsort(entries, used, sizeof entries[0], compare); }
`,
  'text.h': `int next_word(char *word, int size);
`,
  'text.c': `#include <ctype.h>
#include <stdio.h>
#include "text.h"

int next_word(char *word, int size) {
  int letter, length = 0;
  while ((letter = getchar()) != EOF) {
    if (isalpha(letter)) { if (length < size - 1) word[length++] = tolower(letter); }
    else if (length > 0) break;
  }
  word[length] = '\\0';
  return length > 0;
}
`,
  'main.c': `#include <stdio.h>
#include <stdlib.h>
#include "count.h"
#include "text.h"

int main(int argc, char **argv) {
  int most = argc > 1 ? atoi(argv[1]) : 10;
  char word[LONGEST];
  while (next_word(word, sizeof word)) count_word(word);
  sort_entries();
  for (int at = 0; at < used && at < most; at++) printf("%d %s\\n", entries[at].times, entries[at].word);
  return used > 0 ? 0 : 1;
}
`,
}

/** Bugs by file. */
const bugs: readonly (readonly [path: string, bug: Bug])[] = [
  ['Makefile', ['-o tally main.o count.o text.o', '-o tally main.o count.o']],
  ['Makefile', ['main.o: main.c count.h text.h', 'main.o: main.c']],
  ['Makefile', ['count.o: count.c count.h', 'count.o: count.h']],
  ['Makefile', ['rm -f tally main.o', 'rm -f main.o']],
  ['count.c', ['entries[used].times = 1', 'entries[used].times = 0']],
  ['count.c', ['return y->times - x->times', 'return x->times - y->times']],
  ['count.c', ['#include <string.h>', '#include <strings.c>']],
  ['count.c', ['return strcmp(x->word, y->word)', 'return strcmp(y->word, x->word)']],
  ['text.c', ['tolower(letter)', '(char)letter']],
  ['text.c', ['else if (length > 0) break', 'else break']],
  ['text.c', ['return length > 0', 'return letter != EOF']],
  ['main.c', ['argc > 1 ? atoi(argv[1]) : 10', '10']],
  ['main.c', ['return used > 0 ? 0 : 1', 'return 0']],
  ['main.c', ['at < used && at < most', 'at < most - 1 && at < used']],
]

function tally(text: string, most: number): string {
  const counts = new Map<string, number>()
  for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) counts.set(word, (counts.get(word) ?? 0) + 1)
  const all = [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
  return all
    .slice(0, most)
    .map(([word, times]) => `${times} ${word}\n`)
    .join('')
}

/** Eight words that repeat and two that occur once; no line feed after the last. */
function drawText(random: Draws): string {
  const [one = '', two = '', ...stock] = random.few(plainWords, 10)
  const many = Array.from({ length: 90 }, () => random.pick(stock)).map((word) =>
    random.chance(0.3) ? word.toUpperCase() : word,
  )
  return `-- ${[one, two, ...many].join(random.pick([', ', ' ', '; ']))} ${random.pick(stock)}`
}

const repairC: Operation = {
  name: 'repair-c-program',
  domains: ['c-programs'],
  needs: ['make', 'gcc'],
  make: (draw) => {
    const { random, level, root } = draw
    const drawn = drawBugs(
      random,
      Object.values(sources).join(''),
      bugs.map(([, bug]) => bug),
      byLevel(level, 1, 2, random.int(3, 4)),
    )
    const broken: Record<string, string> = {}
    for (const [path, good] of Object.entries(sources)) {
      const own = bugs.filter(([where, bug]) => where === path && drawn.includes(bug)).map(([, bug]) => bug)
      const text = breakProgram(good, own)
      if (text === null) return null
      broken[path] = text
    }
    const folder = random.pick(['tally', 'src', 'project'])
    const hidden = { '1.txt': drawText(random), '2.txt': drawText(random) }
    const tree = (of: Readonly<Record<string, string>>) =>
      Object.fromEntries(Object.entries(of).map(([path, text]) => [`${folder}/${path}`, file(text)]))
    const changed = Object.keys(sources).filter((path) => broken[path] !== sources[path])
    return simpleWork(draw, {
      domain: 'c-programs',
      operation: 'repair-c-program',
      shape: 'make',
      faults: drawn.map(() => 'program-bug'),
      ask: tellC(draw, folder, drawn.length),
      before: tree(broken),
      after: {
        ...tree(sources),
        ...Object.fromEntries(Object.keys(sources).map((path) => [`${folder}/${path}`, { kind: 'some' as const }])),
      },
      probes: [{ command: probe(`${root}/${folder}`), stdout: heard(hidden['1.txt'], hidden['2.txt']) }],
      hidden,
      solve: changed
        .map((path) => repairShell(`${folder}/${path}`, broken[path] ?? '', sources[path] ?? ''))
        .join('\n'),
    })
  },
}

/** Builds a copy, runs it, touches a header, and cleans. */
const probe = (folder: string) => `mkdir "$scratch/copy"
cp ${folder}/*.c ${folder}/*.h ${folder}/Makefile "$scratch/copy/"
cd "$scratch/copy"
find . -type f -exec touch -d '2001-01-01 00:00' {} +
make > /dev/null 2>&1 && echo built
./tally < "$hidden/1.txt"; echo "exit $?"
./tally 3 < "$hidden/2.txt"; echo "exit $?"
./tally < /dev/null; echo "exit $?"
make -q && echo current
touch -d tomorrow text.h; make -n | grep -c -- -c
touch -d '2001-01-01 00:00' text.h; touch -d tomorrow count.c; make -n | grep -c -- -c
touch -d '2001-01-01 00:00' count.c
make clean > /dev/null; ls`

const heard = (one: string, two: string) =>
  `built\n${tally(one, 10)}exit 0\n${tally(two, 3)}exit 0\nexit 1\ncurrent\n2\n1\n${['Makefile', 'count.c', 'count.h', 'main.c', 'text.c', 'text.h'].map((name) => `${name}\n`).join('')}`

function tellC({ random, words, root }: Draw, folder: string, count: number): string[] {
  const some = count === 1 ? 'one bug' : `${count} bugs`
  return [
    words.say(
      random.pick([
        `The C program in \`${root}/${folder}\` has ${some}, in its sources or in its Makefile. Fix ${count === 1 ? 'it' : 'them'} in place.`,
        `\`${root}/${folder}\` contains a small C program with a Makefile. There ${count === 1 ? 'is' : 'are'} ${some} somewhere in these files. Find and fix ${count === 1 ? 'it' : 'them'}.`,
      ]),
      [
        `Please repair the small C program in \`${root}/${folder}\`. There ${count === 1 ? 'is' : 'are'} ${some} in its sources or its Makefile; correct ${count === 1 ? 'it' : 'them'} there.`,
        `Something is wrong with the C program in \`${root}/${folder}\`: ${some}, to be exact, in the source files or in the Makefile. Fix these files in place.`,
        `\`${root}/${folder}\` holds a C program and its Makefile, which do not work as described below because of ${some} in these files. Find and fix ${count === 1 ? 'it' : 'them'}.`,
        `Debug the C program in \`${root}/${folder}\`, its sources as well as its Makefile. It has ${some}; edit the files in place to remove ${count === 1 ? 'it' : 'them'}.`,
        `Can you make the C program in \`${root}/${folder}\` do what is described here? There ${count === 1 ? 'is' : 'are'} ${some} in its source files or its Makefile, to be fixed in place.`,
      ],
    ),
    words.say(
      random.pick([
        '`make` should build `tally` and compile only what is needed: a source file is compiled again if it, or one of the headers that it includes, has changed, and not otherwise. `make clean` removes everything that `make` created.',
        '`make` builds the program `tally` from three object files. Each of them depends on its source file and on the headers that the source file includes: a change to one of these, and to nothing else, causes it to be compiled again. `make clean` leaves nothing but the sources, the headers and the Makefile.',
      ]),
      [
        'Running `make` has to produce the program `tally` with no more compiling than necessary: a source file is compiled again exactly if it, or a header that it includes, has changed. `make clean` deletes all that `make` created.',
        'The Makefile should work like this. `make` builds `tally`; after a change, it compiles those source files again that were changed themselves or that include a changed header, and no others. `make clean` leaves only the sources, the headers and the Makefile.',
        'What `make` is for: it builds `tally` from one object file per source file. An object file depends on its source file and on every header that this source file includes, and on nothing else, so that nothing is compiled without need. What `make clean` is for: it removes everything that `make` created.',
        '`make` must create `tally`. It must not compile a source file again unless that file or one of the headers that it includes has changed; if one of them has, it must. With `make clean`, everything that `make` created disappears.',
      ],
    ),
    words.say(
      random.pick([
        '`tally N` counts the words on its standard input. A word is a run of the letters a to z and A to Z; words are converted to lower case. It prints `TIMES WORD` for the N most frequent words (10 without an argument), most frequent first, with equally frequent words in alphabetical order. Its exit code is 0, or 1 if the input has no words.',
        'Called as `tally N`, the program reads text from its standard input, treats every run of letters (a to z, in either case) as a word, converts the words to lower case, and prints the N most frequent words as `TIMES WORD`, in descending order of TIMES and then alphabetically. N defaults to 10. The exit code is 1 if there were no words at all, and 0 otherwise.',
      ]),
      [
        'The program reads its standard input and counts how often each word occurs. Words are runs of letters (a to z and A to Z), converted to lower case. `tally N` prints the N most frequent words, each as `TIMES WORD`, from the most to the least frequent and, where they are equally frequent, in alphabetical order. Without an argument, N is 10. It exits with 0, but with 1 if there was not a single word.',
        'This is what `tally N` does: it finds the words on its standard input, which are the runs of the letters a to z and A to Z, changes them to lower case and counts them. For the N words that occur most often (10 if it is called without N), it prints `TIMES WORD`, the highest TIMES first; words with the same TIMES are sorted alphabetically. If the input has words, the exit code is 0, otherwise 1.',
        'Specification of `tally N`: it reads text on standard input. A word is a run of letters, a to z in lower or upper case, and is converted to lower case. Output: `TIMES WORD` for each of the N words with the highest counts (N is 10 if there is no argument), in descending order of the counts and alphabetically among equal counts. Exit code: 1 for an input without words, else 0.',
      ],
    ),
    words.say(
      random.pick([
        `The tests copy the sources, the headers and the Makefile elsewhere and build them there.`,
        'It will be built in another folder, from the sources, headers and Makefile only.',
      ]),
      [
        'For the tests, only the sources, the headers and the Makefile are copied to another folder and built there.',
        'I will build and test it in a different place, with just a copy of the sources, the headers and the Makefile.',
        'The sources, the headers and the Makefile must be enough: these are copied somewhere else, and the program is built there.',
        'Testing happens elsewhere: nothing but the source files, the headers and the Makefile is copied there and built.',
        'To test your work, the program is built in another folder from its sources, headers and Makefile alone.',
      ],
    ),
  ]
}

/** Operations on C programs. */
export const cOperations: readonly Operation[] = [repairC]
