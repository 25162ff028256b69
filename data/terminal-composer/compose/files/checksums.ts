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
    const sums = [...texts].map(([path, text]) => `${digest(kind, text)}  ${path}\n`).join('')
    const { lines, left } = damage(draw, texts)
    const before = { ...left, SUMS: file(sums) }
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
    const { random, level, root } = draw
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
        return entry?.kind === 'file' ? `${digest('sha256', entry.data)}  ${path}\n` : ''
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
