import { createHash } from 'node:crypto'
import { nouns, plainWords } from '../words.ts'
import { byLevel, file, type Operation } from '../work.ts'
import { someText } from './file-trees.ts'
import { simpleWork } from './simple-work.ts'

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

const decode: Operation = {
  name: 'decode-lines',
  domains: ['encoding'],
  make: (draw) => {
    const { random, level, root } = draw
    const [code, encode, command] = random.pick([
      ['base64', (line: string) => Buffer.from(line).toString('base64'), 'printf %s "$line" | base64 -d; echo'],
      [
        'hexadecimal',
        (line: string) => Buffer.from(line).toString('hex'),
        `printf "$(printf %s "$line" | sed 's/../\\\\x&/g')"; echo`,
      ],
      [
        'ROT13',
        (line: string) => line.replace(/[a-z]/g, (c) => String.fromCharCode(((c.charCodeAt(0) - 97 + 13) % 26) + 97)),
        `printf '%s\\n' "$line" | tr 'a-z' 'n-za-m'`,
      ],
      ['reversed', (line: string) => [...line].reverse().join(''), `printf '%s\\n' "$line" | rev`],
    ] as const)
    const lines = someText(draw, byLevel(level, 6, 15, 40))
      .trimEnd()
      .split('\n')
    const isPlain = lines.map(() => level !== 'easy' && random.chance(0.3))
    const text = lines.map((line, at) => (isPlain[at] ? `= ${line}\n` : `${encode(line)}\n`)).join('')
    const [name, out] = [`${random.pick(nouns)}.enc`, random.pick(['plain.txt', 'decoded.txt', 'clear.txt'])]
    const how =
      code === 'reversed'
        ? 'written backwards, its last character first'
        : code === 'ROT13'
          ? 'in ROT13 (lower-case letters only)'
          : `in ${code}`
    const ask = [
      random.pick([
        `Each line of \`${root}/${name}\` is ${how}. Write the plain lines, in order, to \`${root}/${out}\`.`,
        `Somebody encoded \`${root}/${name}\` line by line: each is ${how}. Decode it into \`${root}/${out}\`, one line for each line.`,
      ]),
      ...(isPlain.includes(true)
        ? [
            'Lines that begin with `= ` (an equals sign and a space) are not encoded: only take those two characters away.',
          ]
        : []),
    ]
    return simpleWork(draw, {
      domain: 'encoding',
      operation: 'decode-lines',
      shape: code,
      faults: isPlain.includes(true) ? ['mixed-encodings'] : [],
      ask,
      before: { [name]: file(text) },
      after: { [name]: file(text), [out]: file(lines.map((line) => `${line}\n`).join('')) },
      solve: `while IFS= read -r line; do
  case $line in
    '= '*) printf '%s\\n' "\${line#= }" ;;
    *) ${command} ;;
  esac
done < ${name} > ${out}`,
    })
  },
}

const lineEndings: Operation = {
  name: 'line-endings',
  domains: ['encoding'],
  make: (draw) => {
    const { random, level, root } = draw
    const before: Record<string, ReturnType<typeof file>> = {}
    const after: Record<string, ReturnType<typeof file>> = {}
    const windows = random.pick(['bat', 'ini', 'reg'])
    for (let at = 0; at < byLevel(level, 5, 9, 16); at++) {
      const path = `${random.pick(['', 'src/', 'etc/files/'])}${random.pick(nouns)}${at}.${random.pick([windows, 'txt', 'sh', 'c'])}`
      const text = `${random.chance(0.2) ? 'caf\u00e9 ' : ''}${someText(draw)}`
      const final = random.chance(0.5) ? text : text.trimEnd()
      before[path] = file(random.chance(0.5) ? final.replaceAll('\n', '\r\n') : final)
      const whole = text
      after[path] = file(path.endsWith(`.${windows}`) ? whole.replaceAll('\n', '\r\n') : whole)
    }
    const ask = [
      random.pick([
        `The files under \`${root}\` have mixed line endings, and some lack one after their last line. Give files that end in \`.${windows}\` CR LF and all others LF, on every line, the last one included. Nothing else about them may change.`,
        `Unify line endings below \`${root}\`: CR LF in every \`.${windows}\` file, LF in all other files. Also make sure that the last line of each file is terminated the same way. Names, folders and texts stay.`,
      ]),
    ]
    return simpleWork(draw, {
      domain: 'encoding',
      operation: 'line-endings',
      shape: 'tree',
      faults: ['crlf', 'no-final-newline'],
      ask,
      before,
      after,
      solve: `find . -type f -print0 | while IFS= read -r -d '' path; do
  new=$(mktemp)
  tr -d '\\r' < "$path" | awk 1 > "$new"
  case $path in *.${windows}) sed -i 's/$/\\r/' "$new" ;; esac
  cat "$new" > "$path"
  rm "$new"
done`,
    })
  },
}

const verifySums: Operation = {
  name: 'verify-sums',
  domains: ['checksums'],
  make: (draw) => {
    const { random, level, root } = draw
    const paths = random
      .few(nouns, byLevel(level, 6, 12, 20))
      .map((name, at) => `${random.pick(['', 'a/', 'b/c/'])}${name}${level === 'easy' ? '-' : ' '}${at}.bin`)
    const texts = new Map(paths.map((path) => [path, someText(draw)]))
    const [tool, kind] = random.pick([
      ['sha256sum', 'sha256'],
      ['md5sum', 'md5'],
      ['sha1sum', 'sha1'],
    ] as const)
    const sums = paths
      .map(
        (path) =>
          `${createHash(kind)
            .update(texts.get(path) ?? '')
            .digest('hex')}  ${path}\n`,
      )
      .join('')
    const lines: string[] = []
    const before: Record<string, ReturnType<typeof file>> = {}
    for (const path of paths) {
      const fate = random.int(1, 10)
      if (fate === 1) lines.push(`missing ${path}`)
      else if (fate <= 4) {
        lines.push(`changed ${path}`)
        before[path] = file(`${texts.get(path)}${random.pick(plainWords)}\n`)
      } else before[path] = file(texts.get(path) ?? '')
    }
    for (const path of random.few(plainWords, 2).map((word) => `extra-${word}.bin`)) {
      lines.push(`extra ${path}`)
      before[path] = file(someText(draw))
    }
    const list = { SUMS: file(sums) }
    const out = random.pick(['verdict.txt', 'check.txt', 'differences.txt'])
    const ask = [
      random.pick([
        `\`${root}/SUMS\` was written with \`${tool}\` when everything was fine. Compare: write to \`${root}/${out}\` a line \`changed PATH\` for every listed file whose content differs now, \`missing PATH\` for every listed file that is not there, and \`extra PATH\` for every file below \`${root}\` that is not listed (\`SUMS\` and the report aside). Paths are relative, as in \`SUMS\`; sort the lines in byte order.`,
        `Check the files below \`${root}\` against the ${tool} list \`${root}/SUMS\` and write the differences to \`${root}/${out}\`, sorted in byte order, one per line: \`changed PATH\`, \`missing PATH\` or \`extra PATH\` (a file that the list does not have; \`SUMS\` itself and the report do not count). Use paths as in \`SUMS\`.`,
      ]),
    ]
    return simpleWork(draw, {
      domain: 'checksums',
      operation: 'verify-sums',
      shape: kind,
      faults: ['corrupt-files'],
      ask,
      before: { ...before, ...list },
      after: {
        ...before,
        ...list,
        [out]: file(
          lines
            .sort()
            .map((line) => `${line}\n`)
            .join(''),
        ),
      },
      solve: `report=$(mktemp)
while IFS= read -r line; do
  sum=\${line%%  *} path=\${line#*  }
  if [ ! -e "$path" ]; then echo "missing $path"
  elif [ "$(${tool} < "$path" | cut -d ' ' -f 1)" != "$sum" ]; then echo "changed $path"; fi
done < SUMS > "$report"
find . -type f -not -path ./SUMS -printf '%P\\n' | while IFS= read -r path; do
  cut -d ' ' -f 3- SUMS | grep -xF -- "$path" > /dev/null || echo "extra $path"
done >> "$report"
sort "$report" > ${out}
rm "$report"`,
    })
  },
}

const joinParts: Operation = {
  name: 'join-parts',
  domains: ['checksums', 'archives'],
  make: (draw, domain) => {
    const { random, level, root } = draw
    const count = byLevel(level, 3, 6, 11)
    const chunks = Array.from({ length: count }, () => someText(draw, random.int(1, 4)).slice(0, random.int(8, 60)))
    const names = random.few(plainWords, count).map((word) => `${word}.part`)
    const order = random.shuffle(names.map((_, at) => at))
    const before: Record<string, ReturnType<typeof file>> = Object.fromEntries(
      names.map((name, at) => [`parts/${name}`, file(chunks[at] ?? '')]),
    )
    before['parts/ORDER'] = file(
      order
        .map(
          (at, nth) =>
            `${nth + 1} ${createHash('sha256')
              .update(chunks[at] ?? '')
              .digest('hex')
              .slice(0, 12)}\n`,
        )
        .join(''),
    )
    if (new Set(chunks).size < count) return null
    const whole = order.map((at) => chunks[at]).join('')
    const out = random.pick(['whole.txt', 'joined.txt', 'restored.txt'])
    const ask = [
      random.pick([
        `A file was cut into the \`.part\` files in \`${root}/parts\`. \`${root}/parts/ORDER\` tells their order: line after line a number and the first 12 digits of the part's SHA-256. Put the file together again, byte by byte with nothing in between, as \`${root}/${out}\`.`,
        `Restore \`${root}/${out}\` from the pieces in \`${root}/parts\`: concatenate the \`.part\` files in the order given in \`ORDER\` there, which names each by the beginning (12 hexadecimal digits) of its SHA-256 checksum.`,
      ]),
      'The parts stay where they are.',
    ]
    return simpleWork(draw, {
      domain,
      operation: 'join-parts',
      shape: 'parts',
      ask,
      before,
      after: { ...before, [out]: file(whole) },
      solve: `while read -r _ sum; do
  for part in parts/*.part; do
    case $(sha256sum < "$part") in "$sum"*) cat "$part" ;; esac
  done
done < parts/ORDER > ${out}`,
    })
  },
}

const packSelected: Operation = {
  name: 'pack-selected',
  domains: ['archives'],
  make: (draw) => {
    const { random, level, root } = draw
    const ending = random.pick(['log', 'txt', 'dat'])
    const paths = Array.from(
      { length: byLevel(level, 6, 12, 20) },
      (_, at) =>
        `${random.pick(['logs', 'logs/old', 'data', 'data/in box'])}/${random.pick(nouns)}${at}.${random.pick([ending, ending, 'tmp', 'cfg'])}`,
    )
    const before = Object.fromEntries(paths.map((path) => [path, file(someText(draw))]))
    const chosen = paths.filter((path) => path.endsWith(`.${ending}`)).sort((a, b) => (a < b ? -1 : 1))
    if (chosen.length === 0) return null
    const out = `${random.pick(['backup', 'bundle', 'archive'])}.tar.gz`
    const remove = random.chance(0.5)
    const listing = chosen
      .map((path) => {
        const entry = before[path]
        return entry?.kind === 'file' ? `${createHash('sha256').update(entry.data).digest('hex')}  ${path}\n` : ''
      })
      .join('')
    const after = Object.fromEntries(Object.entries(before).filter(([path]) => !remove || !chosen.includes(path)))
    const ask = [
      random.pick([
        `Pack all \`.${ending}\` files below \`${root}\` into \`${root}/${out}\`, a tar archive compressed with gzip. The archive has the files (no entries for folders needed) under their paths relative to \`${root}\`, such as \`logs/a.${ending}\`; a leading \`./\` is fine. Other files do not go in.`,
        `Make \`${root}/${out}\` (tar, gzip) with every \`.${ending}\` file that lies anywhere under \`${root}\`, and nothing else but possibly their folders. Paths in the archive are relative to \`${root}\`.`,
      ]),
      remove ? 'When they are packed, delete the originals of the packed files; folders stay.' : 'The originals stay.',
    ]
    const folders = Object.fromEntries(
      paths.flatMap((path) =>
        path
          .split('/')
          .slice(0, -1)
          .map((_, at, parts) => [parts.slice(0, at + 1).join('/'), { kind: 'dir' } as const]),
      ),
    )
    return simpleWork(draw, {
      domain: 'archives',
      operation: 'pack-selected',
      shape: 'tree',
      faults: ['spaces-in-names'],
      constraints: remove ? ['remove-source'] : [],
      ask,
      before,
      after: { ...after, ...folders, [out]: { kind: 'some' } },
      probes: [
        {
          command: `tar -xzf ${out} -C "$scratch" && cd "$scratch" && find . -type f -printf '%P\\0' | sort -z | xargs -0 sha256sum`,
          stdout: listing,
        },
      ],
      solve: `find . -name '*.${ending}' -type f -print0 | tar -czf ${out} --null -T -${remove ? `\nfind . -name '*.${ending}' -type f -delete` : ''}`,
    })
  },
}

/** Operations on texts, encodings, checksums and archives. */
export const textOperations: readonly Operation[] = [
  wordCount,
  extractPattern,
  contents,
  deadReferences,
  decode,
  lineEndings,
  verifySums,
  joinParts,
  packSelected,
]
