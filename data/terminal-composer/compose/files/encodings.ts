import { nouns } from '../words.ts'
import { byLevel, file, type Operation } from '../work.ts'
import { simpleWork } from './simple-work.ts'
import { someText } from './some-files.ts'

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

/** Operations on text encodings. */
export const encodingOperations: readonly Operation[] = [decode, lineEndings]
