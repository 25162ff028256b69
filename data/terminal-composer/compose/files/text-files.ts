import { createHash } from 'node:crypto'
import { nouns, plainWords } from '../words.ts'
import { byLevel, file, type Operation } from '../work.ts'
import { simpleWork } from './simple-work.ts'
import { someText } from './some-files.ts'

const wordCount: Operation = {
  name: 'word-count',
  domains: ['text'],
  make: (draw) => {
    const { random, level, root } = draw
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
      random.pick([
        `Count the words of \`${root}/${name}\`. A word is a run of the letters a to z in any case; \`The\` and \`the\` are the same. Write the ${top} most frequent to \`${root}/${out}\`, each line being the count, a space and the word in lower case; most frequent first, words with the same count in alphabetical order.`,
        `Which ${top} words are the most common in \`${root}/${name}\`? Only letters make a word, case does not matter. Put \`COUNT word\` (lower case) on one line each into \`${root}/${out}\`, the highest count first and equal counts alphabetically.`,
      ]),
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
    const { random, level, root } = draw
    const wanted = random.pick(patterns)
    const found: string[] = []
    const line = () => {
      const words = random.few(plainWords, random.int(3, 8))
      if (!random.chance(0.6)) return words.join(' ')
      const hit = wanted.make(random.pick(words), random.int(1, 9999))
      found.push(hit)
      return [
        ...words.slice(0, 2),
        `${random.pick(['<', '(', ''])}${hit}${random.pick([',', ';', ''])}`,
        ...words.slice(2),
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
      ? 'each once, sorted in byte order'
      : 'in the order of the file names and then of the text, as often as they appear'
    const ask = [
      random.pick([
        `Collect all ${wanted.what} from the files in \`${root}/notes\` and write them to \`${root}/${out}\`, one per line, ${how}.`,
        `The files in \`${root}/notes\` contain ${wanted.what}. Write them, nothing around them, to \`${root}/${out}\`: one per line, ${how}.`,
      ]),
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
    const { random, level, root } = draw
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
      random.pick([
        `Write a table of contents for the Markdown file \`${root}/${name}\` to \`${root}/${out}\`: one line per heading (\`#\` to \`###\`), two spaces of indentation for each level below the first, then \`- [Title](#title)\`, where the part after \`#\` is the title in lower case with spaces turned into hyphens.`,
        `\`${root}/${name}\` needs a table of contents, in a file of its own: \`${root}/${out}\`. A heading \`## Blue Boat\` gives the line \`  - [Blue Boat](#blue-boat)\`: two spaces per level below the first, the link in lower case with hyphens for spaces. Take headings of level 1 to 3 in order.`,
      ]),
      ...(fence ? ['What is between lines of three backticks is code, not headings.'] : []),
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
    const { random, level, root } = draw
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
      random.pick([
        `The pages in \`${root}/docs\` link to one another as \`[text](page.md)\`, at most once per line. Some of these pages do not exist in that folder. Write every dead link to \`${root}/${out}\` as \`docs/PAGE.md:LINE: TARGET\` (for example \`docs/a.md:3: b.md\`), in byte order of the page and then by line number.`,
        `Check the links of \`${root}/docs\`. A line has at most one, \`[text](page.md)\`, and it is dead if there is no such file in \`docs\`. Report dead ones in \`${root}/${out}\`, one per line, as file, colon, line number, colon, space, target: \`docs/a.md:3: b.md\`. Files in byte order, lines ascending.`,
      ]),
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
