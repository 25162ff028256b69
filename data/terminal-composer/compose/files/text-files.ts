import { createHash } from 'node:crypto'
import { nouns, plainWords } from '../words.ts'
import { byLevel, file, type Operation } from '../work.ts'
import { simpleWork } from './simple-work.ts'
import { someText } from './some-files.ts'

const wordCount: Operation = {
  name: 'word-count',
  domains: ['text'],
  make: (draw) => {
    const { random, words, level, root } = draw
    const common = random.few(plainWords, 14)
    const line = () =>
      Array.from({ length: random.int(4, 10) }, () => {
        const word = random.pick(common)
        return random.chance(0.25) ? word.slice(0, 1).toUpperCase() + word.slice(1) : word
      })
        .join(random.pick([' ', ', ', ' - ']))
        .concat(random.pick(['.', '!', '?', '']))
    const text = Array.from({ length: byLevel(level, 8, 30, 90) }, () => `${line()}\n`).join('')
    const counts = new Map<string, number>()
    for (const word of text.toLowerCase().match(/[a-z]+/g) ?? []) counts.set(word, (counts.get(word) ?? 0) + 1)
    const top = random.int(4, 9)
    const lines = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, top)
    const [name, out] = [`${random.pick(nouns)}.txt`, random.pick(['words.txt', 'frequency.txt', 'top.txt'])]
    const ask = [
      words.say(
        random.pick([
          `Count the words of \`${root}/${name}\`. A word is a run of the letters a to z in any case; \`The\` and \`the\` are the same. Write the ${top} most frequent to \`${root}/${out}\`, each line being the count, a space and the word in lower case; most frequent first, words with the same count in alphabetical order.`,
          `Which ${top} words are the most common in \`${root}/${name}\`? Only letters make a word, case does not matter. Put \`COUNT word\` (lower case) on one line each into \`${root}/${out}\`, the highest count first and equal counts alphabetically.`,
        ]),
        [
          `I would like a word frequency list of \`${root}/${name}\`, limited to the ${top} most frequent words. Treat every run of the letters a to z, upper or lower case, as a word, and count \`The\` together with \`the\`. The list goes to \`${root}/${out}\`, one word per line: the count, a single space, the word in lower case. Sort it from the highest count down; words with equal counts are sorted alphabetically.`,
          `\`${root}/${out}\` should hold the ${top} words that occur most often in \`${root}/${name}\`, one line each, written \`COUNT word\` with one space in between and the word in lower case. Begin with the largest count; where counts are equal, go by the alphabet. Words are made of letters only (a to z), everything else separates them, and upper and lower case count as the same.`,
          `Input: \`${root}/${name}\`. Output: \`${root}/${out}\`, ${top} lines of the form \`COUNT word\`, all words in lower case. Wanted are the most frequent words, by descending count and alphabetically where the count is the same. A word is an unbroken sequence of the letters a to z; ignore case.`,
          `Take the text of \`${root}/${name}\` in lower case, split it into words (runs of the letters a to z; any other character is a separator) and count how often each word appears. The top ${top} go into \`${root}/${out}\` as lines of \`COUNT word\`: bigger counts come before smaller ones, and ties are in alphabetical order.`,
          `Can you find out how often words occur in \`${root}/${name}\`? Only the ${top} most common ones matter. Put one line for each of them into \`${root}/${out}\`: how often it occurs, a space, and the word itself in lower case. Order the lines by count, highest first, and those with the same count by word, a before z. A word is one or more letters (a to z, upper or lower case) in a row, and \`The\` is the same word as \`the\`.`,
        ],
      ),
    ]
    return simpleWork(draw, {
      domain: 'text',
      operation: 'word-count',
      shape: 'prose',
      ask,
      before: { [name]: file(text) },
      after: { [name]: file(text), [out]: file(lines.map(([word, count]) => `${count} ${word}\n`).join('')) },
      solve: `tr 'A-Z' 'a-z' < ${name} | tr -cs 'a-z' '\\n' | sed '/^$/d' | sort | uniq -c | sort -k 1,1nr -k 2 | awk '{ print $1, $2 }' | sed -n '1,${top}p' > ${out}`,
    })
  },
}

const patterns = [
  {
    what: 'e-mail addresses (letters, digits and dots, then `@`, then letters, digits and hyphens, then `.` and two or three letters)',
    make: (w: string, n: number) => `${w}.${n}@mail-${w}.org`,
    grep: '[A-Za-z0-9.]+@[A-Za-z0-9-]+[.][a-z]{2,3}',
  },
  {
    what: 'IPv4 addresses (four numbers with dots between them; each has one to three digits)',
    make: (_: string, n: number) => `10.${n % 200}.${(n * 7) % 250}.${(n * 3) % 250}`,
    grep: '[0-9]{1,3}([.][0-9]{1,3}){3}',
  },
  {
    what: 'part numbers (two capital letters, a hyphen, four digits)',
    make: (w: string, n: number) => `${w.slice(0, 2).toUpperCase()}-${1000 + (n % 8999)}`,
    grep: '[A-Z]{2}-[0-9]{4}',
  },
  {
    what: 'hexadecimal colours (`#` and six hexadecimal digits in lower case)',
    make: (w: string, n: number) => `#${createHash('sha256').update(`${w}${n}`).digest('hex').slice(0, 6)}`,
    grep: '#[0-9a-f]{6}',
  },
  {
    what: 'times of day (two digits, a colon, two digits)',
    make: (_: string, n: number) => `${String(n % 24).padStart(2, '0')}:${String(n % 60).padStart(2, '0')}`,
    grep: '[0-9]{2}:[0-9]{2}',
  },
]

const extractPattern: Operation = {
  name: 'extract-pattern',
  domains: ['text'],
  make: (draw) => {
    const { random, words, level, root } = draw
    const wanted = random.pick(patterns)
    const found: string[] = []
    const line = () => {
      const plain = random.few(plainWords, random.int(3, 8))
      if (!random.chance(0.6)) return plain.join(' ')
      const hit = wanted.make(random.pick(plain), random.int(1, 9999))
      found.push(hit)
      return [
        ...plain.slice(0, 2),
        `${random.pick(['<', '(', ''])}${hit}${random.pick([',', ';', ''])}`,
        ...plain.slice(2),
      ].join(' ')
    }
    const paths = Array.from(
      { length: byLevel(level, 1, 3, 6) },
      (_, at) => `notes/${at + 1} ${random.pick(nouns)}.txt`,
    )
    const before = Object.fromEntries(
      paths.map((path) => [
        path,
        file(Array.from({ length: byLevel(level, 10, 16, 25) }, () => `${line()}\n`).join('')),
      ]),
    )
    const unique = random.chance(0.6)
    const lines = unique ? [...new Set(found)].sort() : found
    if (lines.length < 2) return null
    const out = random.pick(['found.txt', 'extracted.txt', 'matches.txt'])
    const how = unique
      ? words.say('each once, sorted in byte order', [
          'without duplicates and in byte order',
          'sorted by their bytes, with duplicates removed',
          'in byte order and none of them twice',
          'deduplicated and sorted bytewise',
        ])
      : words.say('in the order of the file names and then of the text, as often as they appear', [
          'file by file in the order of the file names, within a file in the order of the text, repetitions included',
          'duplicates kept, in the order in which they stand in the text, with the files taken in the order of their names',
          'with every occurrence listed, going through the files in the order of their names and through each from beginning to end',
          'in order of appearance (files sorted by name) and with all repeats',
        ])
    const ask = [
      words.say(
        random.pick([
          `Collect all ${wanted.what} from the files in \`${root}/notes\` and write them to \`${root}/${out}\`, one per line, ${how}.`,
          `The files in \`${root}/notes\` contain ${wanted.what}. Write them, nothing around them, to \`${root}/${out}\`: one per line, ${how}.`,
        ]),
        [
          `Go through the files in \`${root}/notes\` and pull out all ${wanted.what}. What you find goes to \`${root}/${out}\` without the text around it, one per line, ${how}.`,
          `\`${root}/${out}\` must list all ${wanted.what} that occur in the files in the folder \`${root}/notes\`: one per line with no surrounding text, ${how}.`,
          `I am looking for one kind of thing in the files in \`${root}/notes\`: ${wanted.what}. Please save all of them, and only them, to \`${root}/${out}\`, one on each line, ${how}.`,
          `Which ${wanted.what} occur in the files in \`${root}/notes\`? Write them to \`${root}/${out}\` and leave out the text around them. One per line, ${how}.`,
          `Source: the files in \`${root}/notes\`. To extract: all ${wanted.what}. Target: \`${root}/${out}\`, one match per line and nothing around it, ${how}.`,
        ],
      ),
    ]
    return simpleWork(draw, {
      domain: 'text',
      operation: 'extract-pattern',
      shape: 'prose',
      faults: ['spaces-in-names'],
      ask,
      before,
      after: { ...before, [out]: file(lines.map((hit) => `${hit}\n`).join('')) },
      solve: `cat notes/* | grep -oE '${wanted.grep}'${unique ? ' | sort -u' : ''} > ${out}`,
    })
  },
}

const contents: Operation = {
  name: 'table-of-contents',
  domains: ['docs'],
  make: (draw) => {
    const { random, words, level, root } = draw
    const heads: { depth: number; title: string }[] = []
    let depth = 1
    for (let at = 0; at < byLevel(level, 5, 10, 20); at++) {
      depth = at === 0 ? 1 : Math.max(1, Math.min(3, depth + random.int(-1, 1)))
      heads.push({
        depth,
        title: random
          .few(plainWords, random.int(1, 3))
          .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
          .join(' '),
      })
    }
    const fence = level === 'easy' ? '' : '```\n# not a heading\n```\n'
    const text = heads
      .map(
        (head, at) =>
          `${'#'.repeat(head.depth)} ${head.title}\n\n${someText(draw, 2)}\n${at % 3 === 1 ? `${fence}\n` : ''}`,
      )
      .join('')
    const toc = heads
      .map(
        (head) =>
          `${'  '.repeat(head.depth - 1)}- [${head.title}](#${head.title.toLowerCase().replaceAll(' ', '-')})\n`,
      )
      .join('')
    const [name, out] = [`${random.pick(nouns)}.md`, random.pick(['TOC.md', 'contents.md', 'index.md'])]
    const ask = [
      words.say(
        random.pick([
          `Write a table of contents for the Markdown file \`${root}/${name}\` to \`${root}/${out}\`: one line per heading (\`#\` to \`###\`), two spaces of indentation for each level below the first, then \`- [Title](#title)\`, where the part after \`#\` is the title in lower case with spaces turned into hyphens.`,
          `\`${root}/${name}\` needs a table of contents, in a file of its own: \`${root}/${out}\`. A heading \`## Blue Boat\` gives the line \`  - [Blue Boat](#blue-boat)\`: two spaces per level below the first, the link in lower case with hyphens for spaces. Take headings of level 1 to 3 in order.`,
        ]),
        [
          `Create \`${root}/${out}\` as the table of contents of the Markdown file \`${root}/${name}\`. Every heading from \`#\` to \`###\` becomes one line, in the order of the file: two spaces of indentation for each level below the first, followed by \`- [Title](#title)\`. What stands after \`#\` in the link is the title in lower case, each space replaced by a hyphen.`,
          `Please list the headings of \`${root}/${name}\` in \`${root}/${out}\`, so that this file can serve as a table of contents. Headings of level 1, 2 and 3 count, one line for each, in the order in which they appear. The line for \`## Blue Boat\` would be \`  - [Blue Boat](#blue-boat)\`: level 1 is not indented and each further level adds two spaces, the brackets hold the title as it is, and the link is \`#\` and the title in lower case with hyphens in place of spaces.`,
          `Wanted: a table of contents in \`${root}/${out}\` for the Markdown document \`${root}/${name}\`. It has a line for every heading from \`#\` to \`###\`, in their order. Form of a line: per level below the first two spaces of indentation, then \`- [Title](#title)\`; to get the part after \`#\` in the link, put the title in lower case and turn its spaces into hyphens.`,
          `What would a table of contents of \`${root}/${name}\` look like? Write it to \`${root}/${out}\`, a separate file: one list item for each heading of the levels 1 to 3, from top to bottom. For example, the heading \`## Blue Boat\` turns into the line \`  - [Blue Boat](#blue-boat)\`. Items are indented by two spaces for every level below the first; in the link, letters are lower case and hyphens stand for spaces.`,
        ],
      ),
      ...(fence
        ? [
            words.say('What is between lines of three backticks is code, not headings.', [
              'A line of three backticks opens a block of code and the next such line closes it; no line inside such a block counts as a heading.',
              'Skip code blocks, which begin and end with a line of three backticks: nothing in them is a heading.',
              'Do not take code for headings: whatever is enclosed by two lines of three backticks is code.',
              'Code, enclosed by a line of three backticks before it and one after it, may contain lines that look like headings. Those lines are not headings.',
            ]),
          ]
        : []),
    ]
    return simpleWork(draw, {
      domain: 'docs',
      operation: 'table-of-contents',
      shape: 'markdown',
      ask,
      before: { [name]: file(text) },
      after: { [name]: file(text), [out]: file(toc) },
      solve:
        'awk \'/^```/ { code = !code } !code && /^#+ / { n = index($0, " ") - 1; t = substr($0, n + 2); a = tolower(t); gsub(/ /, "-", a); s = ""; for (i = 1; i < n; i++) s = s "  "; print s "- [" t "](#" a ")" }\' ' +
        `${name} > ${out}`,
    })
  },
}

const deadReferences: Operation = {
  name: 'dead-references',
  domains: ['docs'],
  make: (draw) => {
    const { random, words, level, root } = draw
    const names = random.few(nouns, byLevel(level, 4, 7, 12)).map((name) => `${name}.md`)
    const dead: string[] = []
    const before = Object.fromEntries(
      names.toSorted().map((name) => {
        const lines = Array.from({ length: random.int(3, 7) }, (_, at) => {
          if (!random.chance(0.6)) return random.few(plainWords, 5).join(' ')
          const isDead = random.chance(0.35)
          const target = isDead ? `${random.pick(plainWords)}-${random.int(1, 9)}.md` : random.pick(names)
          if (isDead) dead.push(`docs/${name}:${at + 1}: ${target}`)
          return `${random.pick(plainWords)} see [${random.pick(plainWords)}](${target}) ${random.pick(plainWords)}`
        })
        return [`docs/${name}`, file(lines.map((line) => `${line}\n`).join(''))]
      }),
    )
    if (dead.length === 0) return null
    const out = random.pick(['dead.txt', 'missing-pages.txt', 'report.txt'])
    const ask = [
      words.say(
        random.pick([
          `The pages in \`${root}/docs\` link to one another as \`[text](page.md)\`, at most once per line. Some of these pages do not exist in that folder. Write every dead link to \`${root}/${out}\` as \`docs/PAGE.md:LINE: TARGET\` (for example \`docs/a.md:3: b.md\`), in byte order of the page and then by line number.`,
          `Check the links of \`${root}/docs\`. A line has at most one, \`[text](page.md)\`, and it is dead if there is no such file in \`docs\`. Report dead ones in \`${root}/${out}\`, one per line, as file, colon, line number, colon, space, target: \`docs/a.md:3: b.md\`. Files in byte order, lines ascending.`,
        ]),
        [
          `Find the dead links in the pages of \`${root}/docs\`. Links have the form \`[text](page.md)\`, no line has more than one, and a link is dead if this folder does not contain the page it names. List each dead link in \`${root}/${out}\` on a line of its own as \`docs/PAGE.md:LINE: TARGET\`, such as \`docs/a.md:3: b.md\`. Sort by page in byte order, and within a page by ascending line number.`,
          `\`${root}/${out}\` should report every link in the pages of \`${root}/docs\` that points to a page which is not in that folder. Links look like \`[text](page.md)\`, and there is never more than one in a line. The report has one line per dead link in the format \`docs/PAGE.md:LINE: TARGET\`, so if line 3 of \`docs/a.md\` links to \`b.md\`, which is missing, it says \`docs/a.md:3: b.md\`. Pages come in byte order, the dead links of a page in the order of their line numbers.`,
          `Some links between the pages in \`${root}/docs\` are dead: the file they name is missing from \`docs\`. Which ones? A link is written \`[text](page.md)\`, at most one per line. Write your findings to \`${root}/${out}\`, pages in byte order and links of the same page from top to bottom. Each goes on a line of its own: the page including its folder, a colon, the line number, another colon, a space and the missing target, for example \`docs/a.md:3: b.md\`.`,
          `Job: a link check. Where: the pages in \`${root}/docs\`, with no more than one link \`[text](page.md)\` per line. Dead means: there is no such file in \`docs\`. Result: \`${root}/${out}\`, with a line \`docs/PAGE.md:LINE: TARGET\` for each dead link (like \`docs/a.md:3: b.md\`), ordered by page (byte order), then by line number (ascending).`,
        ],
      ),
    ]
    return simpleWork(draw, {
      domain: 'docs',
      operation: 'dead-references',
      shape: 'markdown',
      ask,
      before,
      after: { ...before, [out]: file(dead.map((line) => `${line}\n`).join('')) },
      solve: `for page in docs/*.md; do
  awk '{ at = index($0, "]("); if (at) { t = substr($0, at + 2); print FILENAME ":" FNR ": " substr(t, 1, index(t, ")") - 1) } }' "$page"
done | while IFS= read -r line; do
  [ -e "docs/\${line##*: }" ] || printf '%s\\n' "$line"
done > ${out}`,
    })
  },
}

/** Operations on text files. */
export const textOperations: readonly Operation[] = [wordCount, extractPattern, contents, deadReferences]
