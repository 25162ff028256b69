import { createHash } from 'node:crypto'
import { nouns, plainWords } from '../words.ts'
import { byLevel, type Draw, file, type Operation } from '../work.ts'
import { simpleWork } from './simple-work.ts'
import { folders, someText } from './some-files.ts'

function digest(kind: string, data: string | Uint8Array): string {
  return createHash(kind).update(data).digest('hex')
}

/** Some files after a few were changed, a few removed and two added; and the sorted lines that report it. */
function damage(draw: Draw, texts: ReadonlyMap<string, string>) {
  const { random } = draw
  const lines: string[] = []
  const left: Record<string, ReturnType<typeof file>> = {}
  for (const [path, text] of texts) {
    const fate = random.int(1, 10)
    if (fate === 1) lines.push(`missing ${path}`)
    else if (fate <= 4) {
      lines.push(`changed ${path}`)
      left[path] = file(`${text}${random.pick(plainWords)}\n`)
    } else left[path] = file(text)
  }
  for (const path of random.few(plainWords, 2).map((word) => `extra-${word}.bin`)) {
    lines.push(`extra ${path}`)
    left[path] = file(someText(draw))
  }
  return { lines: lines.sort(), left }
}

const verifySums: Operation = {
  name: 'verify-sums',
  domains: ['checksums'],
  make: (draw) => {
    const { random, words, level, root } = draw
    const paths = random
      .few(nouns, byLevel(level, 6, 12, 20))
      .map((name, at) => `${random.pick(['', 'a/', 'b/c/'])}${name}${level === 'easy' ? '-' : ' '}${at}.bin`)
    const texts = new Map(paths.map((path) => [path, someText(draw)]))
    const [tool, kind] = random.pick([
      ['sha256sum', 'sha256'],
      ['md5sum', 'md5'],
      ['sha1sum', 'sha1'],
    ] as const)
    const sums = [...texts].map(([path, text]) => `${digest(kind, text)}  ${path}\n`).join('')
    const { lines, left } = damage(draw, texts)
    const before = { ...left, SUMS: file(sums) }
    const out = random.pick(['verdict.txt', 'check.txt', 'differences.txt'])
    const ask = [
      words.say(
        random.pick([
          `\`${root}/SUMS\` was written with \`${tool}\` when everything was fine. Compare: write to \`${root}/${out}\` a line \`changed PATH\` for every listed file whose content differs now, \`missing PATH\` for every listed file that is not there, and \`extra PATH\` for every file below \`${root}\` that is not listed (\`SUMS\` and the report aside). Paths are relative, as in \`SUMS\`; sort the lines in byte order.`,
          `Check the files below \`${root}\` against the ${tool} list \`${root}/SUMS\` and write the differences to \`${root}/${out}\`, sorted in byte order, one per line: \`changed PATH\`, \`missing PATH\` or \`extra PATH\` (a file that the list does not have; \`SUMS\` itself and the report do not count). Use paths as in \`SUMS\`.`,
        ]),
        [
          `When all was well, a colleague ran \`${tool}\` on the files here and stored its output as \`${root}/SUMS\`. Which files anywhere below \`${root}\` have since been changed, lost or added? Put the answer into \`${root}/${out}\`, one line per such file: \`changed PATH\` if the content of a listed file is different now, \`missing PATH\` if a listed file is no longer there, \`extra PATH\` if a file is there without being listed (ignore \`SUMS\` and the report itself). PATH is a relative path, written as in \`SUMS\`; the lines are in byte order.`,
          `I need a report, \`${root}/${out}\`, on how the files below \`${root}\` (at any depth) differ from the checksums in \`${root}/SUMS\`, which \`${tool}\` produced. Each difference is one line:\n\n- \`changed PATH\`: the file is listed, but has other content now\n- \`missing PATH\`: the file is listed, but does not exist\n- \`extra PATH\`: the file exists, but is not listed; \`SUMS\` and the report itself are no such files\n\nThese lines are sorted in byte order, and PATH is the relative path just as \`SUMS\` has it.`,
          `Output: \`${root}/${out}\`, one line per finding, lines sorted in byte order, paths relative and spelled as in \`SUMS\`. Input: the list \`${root}/SUMS\`, made with \`${tool}\`, and all files below \`${root}\`. A listed file that no longer has its checksum gives \`changed PATH\`; a listed file that does not exist gives \`missing PATH\`; a file that exists but is not listed gives \`extra PATH\`. Neither \`SUMS\` nor the report is ever reported.`,
          `Please verify the files in \`${root}\` and its sub-folders with the help of \`${root}/SUMS\`, a list in the format of \`${tool}\`, and collect whatever is wrong in \`${root}/${out}\`. There, a listed file with modified content appears as \`changed PATH\`, a listed file that has disappeared as \`missing PATH\`, and a file that the list does not know as \`extra PATH\`, each on a line of its own. Do not count \`SUMS\` or the report as files. Take relative paths, as \`SUMS\` does, and put the lines in byte order.`,
        ],
      ),
    ]
    return simpleWork(draw, {
      domain: 'checksums',
      operation: 'verify-sums',
      shape: kind,
      faults: ['corrupt-files'],
      ask,
      before,
      after: { ...before, [out]: file(lines.map((line) => `${line}\n`).join('')) },
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
  hardest: 'easy',
  domains: ['checksums', 'archives'],
  make: (draw, domain) => {
    const { random, words, level, root } = draw
    const count = byLevel(level, 3, 6, 11)
    const chunks = Array.from({ length: count }, () => someText(draw, random.int(1, 4)).slice(0, random.int(8, 60)))
    const names = random.few(plainWords, count).map((word) => `${word}.part`)
    const order = random.shuffle(names.map((_, at) => at))
    const before: Record<string, ReturnType<typeof file>> = Object.fromEntries(
      names.map((name, at) => [`parts/${name}`, file(chunks[at] ?? '')]),
    )
    before['parts/ORDER'] = file(
      order.map((at, nth) => `${nth + 1} ${digest('sha256', chunks[at] ?? '').slice(0, 12)}\n`).join(''),
    )
    if (new Set(chunks).size < count) return null
    const whole = order.map((at) => chunks[at]).join('')
    const out = random.pick(['whole.txt', 'joined.txt', 'restored.txt'])
    const ask = [
      words.say(
        random.pick([
          `A file was cut into the \`.part\` files in \`${root}/parts\`. \`${root}/parts/ORDER\` tells their order: line after line a number and the first 12 digits of the part's SHA-256. Put the file together again, byte by byte with nothing in between, as \`${root}/${out}\`.`,
          `Restore \`${root}/${out}\` from the pieces in \`${root}/parts\`: concatenate the \`.part\` files in the order given in \`ORDER\` there, which names each by the beginning (12 hexadecimal digits) of its SHA-256 checksum.`,
        ]),
        [
          `The pieces of a file lie in \`${root}/parts\` as \`.part\` files. In which order do they belong? Each line of \`${root}/parts/ORDER\`, from first to last, has a number and then the first 12 hexadecimal digits of the SHA-256 checksum of the piece in that position. Join the pieces in this order, without adding a byte between them, and save the result as \`${root}/${out}\`.`,
          `\`${root}/${out}\` has to be rebuilt: it is the plain concatenation of all \`.part\` files in \`${root}/parts\`. Their sequence is that of the lines of \`${root}/parts/ORDER\`, where a part is identified by the first 12 hex digits of its SHA-256, which follow a running number. Nothing goes between the parts.`,
          `Please reassemble a file that was split into \`.part\` files. They are in \`${root}/parts\`, next to the file \`ORDER\`, which lists them in the right order, one per line: the position, then the first 12 digits of the SHA-256 of the part (in hexadecimal). The original, with the bytes of each part directly after those of the one before, should be written to \`${root}/${out}\`.`,
          `Input: the \`.part\` files in \`${root}/parts\`. Order: line by line as in \`${root}/parts/ORDER\` (a number, then how the SHA-256 checksum of the part begins, 12 hexadecimal digits). Output: \`${root}/${out}\`, the contents of all parts one after the other with no separator.`,
        ],
      ),
      words.say('The parts stay where they are.', [
        'Leave the parts in place.',
        'Do not move, change or delete the parts.',
        'Keep the parts where they are now.',
        'The parts must still be in their places afterwards.',
        'Nothing may happen to the parts themselves.',
      ]),
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
    const { random, words, level, root } = draw
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
        return entry?.kind === 'file' ? `${digest('sha256', entry.data)}  ${path}\n` : ''
      })
      .join('')
    const after = Object.fromEntries(Object.entries(before).filter(([path]) => !remove || !chosen.includes(path)))
    const ask = [
      words.say(
        random.pick([
          `Pack all \`.${ending}\` files below \`${root}\` into \`${root}/${out}\`, a tar archive compressed with gzip. The archive has the files (no entries for folders needed) under their paths relative to \`${root}\`, such as \`logs/a.${ending}\`; a leading \`./\` is fine. Other files do not go in.`,
          `Make \`${root}/${out}\` (tar, gzip) with every \`.${ending}\` file that lies anywhere under \`${root}\`, and nothing else but possibly their folders. Paths in the archive are relative to \`${root}\`.`,
        ]),
        [
          `Create a gzip-compressed tar archive, \`${root}/${out}\`. It contains every file below \`${root}\`, at whatever depth, whose name ends in \`.${ending}\`, and no other file. In the archive, a file has its path relative to \`${root}\` (for example \`logs/a.${ending}\`), with or without \`./\` in front; entries for folders are allowed but not needed.`,
          `All \`.${ending}\` files from anywhere under \`${root}\` should end up in one archive, \`${root}/${out}\`, made with tar and compressed with gzip. Files of other kinds must not be in it, while folders may. An entry is named by its path as seen from \`${root}\`, like \`logs/a.${ending}\`; it may also start with \`./\`.`,
          `Could you put the \`.${ending}\` files of \`${root}\` and all its sub-folders into a tar file, compress it with gzip and store it as \`${root}/${out}\`? Leave out everything else, except that entries for folders do no harm. The paths in it have to be relative to \`${root}\`, for instance \`logs/a.${ending}\` (\`./\` at the beginning is all right).`,
          `Wanted: \`${root}/${out}\`, format tar with gzip. Content: each file in the tree below \`${root}\` that ends in \`.${ending}\`; nothing else, though the folders of these files may have entries of their own. Member names: relative to \`${root}\`, such as \`logs/a.${ending}\`, where a \`./\` before it is accepted.`,
        ],
      ),
      remove
        ? words.say('When they are packed, delete the originals of the packed files; folders stay.', [
            'Once they are in the archive, remove the originals of those files, but none of the folders.',
            'The files that you packed must then be deleted from their old places; every folder remains, even an empty one.',
            'After packing, the originals of what is in the archive have to be deleted. Do not remove any folder.',
            'Then delete each file that was packed, and keep all folders.',
            'In the end, the packed files are deleted from the folders they were in; the folders themselves are kept.',
          ])
        : words.say('The originals stay.', [
            'Keep the originals.',
            'Do not delete the originals.',
            'The packed files also remain where they are.',
            'Nothing is deleted: the originals stay in place.',
            'Leave the original files as they are.',
          ]),
    ]
    return simpleWork(draw, {
      domain: 'archives',
      operation: 'pack-selected',
      shape: 'tree',
      faults: ['spaces-in-names'],
      constraints: remove ? ['remove-source'] : [],
      ask,
      before,
      after: { ...after, ...folders(paths), [out]: { kind: 'some' } },
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

/** Operations on checksums and archives. */
export const checksumOperations: readonly Operation[] = [verifySums, joinParts, packSelected]
