import { nouns } from '../words.ts'
import { byLevel, file, type Operation } from '../work.ts'
import { simpleWork } from './simple-work.ts'
import { someText } from './some-files.ts'

const decode: Operation = {
  name: 'decode-lines',
  domains: ['encoding'],
  make: (draw) => {
    const { random, words, level, root } = draw
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
        ? words.say('written backwards, its last character first', [
            'reversed character by character',
            'spelled from its last character to its first',
            'written in reverse, from the end to the beginning',
            'turned around, with its characters in the opposite order',
          ])
        : code === 'ROT13'
          ? words.say('in ROT13 (lower-case letters only)', [
              'encoded with ROT13 (lower-case letters only)',
              'written in ROT13, applied only to lower-case letters',
              'in ROT13, where only lower-case letters are shifted',
              'ROT13 text (only the lower-case letters are rotated)',
            ])
          : words.say(`in ${code}`, [`encoded in ${code}`, `stored as ${code}`, `given in ${code}`, `${code} text`])
    const ask = [
      words.say(
        random.pick([
          `Each line of \`${root}/${name}\` is ${how}. Write the plain lines, in order, to \`${root}/${out}\`.`,
          `Somebody encoded \`${root}/${name}\` line by line: each is ${how}. Decode it into \`${root}/${out}\`, one line for each line.`,
        ]),
        [
          `Decode \`${root}/${name}\` and save the result as \`${root}/${out}\`. Each line of the input is ${how}; in the result, the plain lines are in the same order.`,
          `\`${root}/${out}\` should contain the plain text of \`${root}/${name}\`, line for line and in the same order. In \`${root}/${name}\`, every line is ${how}.`,
          `I cannot read \`${root}/${name}\`, because every line of it is ${how}. Please make a readable version in \`${root}/${out}\`: for each line the decoded one, in the order of the input.`,
          `What does \`${root}/${name}\` say in plain text? It was encoded one line at a time: each line is ${how}. Undo that and write the plain lines to \`${root}/${out}\` without changing their order.`,
          `Input: \`${root}/${name}\`, in which each line is ${how}. Output: \`${root}/${out}\`, the same lines in plain form and in the same order.`,
        ],
      ),
      ...(isPlain.includes(true)
        ? [
            words.say(
              'Lines that begin with `= ` (an equals sign and a space) are not encoded: only take those two characters away.',
              [
                'A line that starts with `= ` (an equals sign, then a space) is plain already: just drop these two characters.',
                'Not all lines are encoded: those that begin with `= `, an equals sign and a space, are plain. Remove these two characters from them and keep the rest as it is.',
                'Lines beginning with an equals sign and a space (`= `) are an exception: take them over without decoding, minus those two characters.',
                'Do not decode lines whose first two characters are `= ` (equals sign, space). They appear in the output as they are, except that these two characters are left out.',
              ],
            ),
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
    const { random, words, level, root } = draw
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
      words.say(
        random.pick([
          `The files under \`${root}\` have mixed line endings, and some lack one after their last line. Give files that end in \`.${windows}\` CR LF and all others LF, on every line, the last one included. Nothing else about them may change.`,
          `Unify line endings below \`${root}\`: CR LF in every \`.${windows}\` file, LF in all other files. Also make sure that the last line of each file is terminated the same way. Names, folders and texts stay.`,
        ]),
        [
          `Every line of every file under \`${root}\` must end in the right way: with CR LF if the name of the file ends in \`.${windows}\`, with LF in all other files. At present the endings are mixed, and in some files the last line has none; it must get one too. Apart from line endings, change nothing about the files.`,
          `Line endings under \`${root}\` are inconsistent, and some files have none after their last line. Convert \`.${windows}\` files to CR LF and all others to LF. Afterwards each line must have its line ending, including the last one of each file. Names, folders and everything else in the files remain the same.`,
          `Please go through all files below \`${root}\` and fix their line endings. Which one is right depends on the name: CR LF for files ending in \`.${windows}\`, LF for everything else. No line may be without it, so where the last line of a file lacks a line ending, add the right one. Do not change anything else.`,
          `Two rules for the files below \`${root}\`: in those whose name ends in \`.${windows}\`, each line ends with CR LF; in all others, each line ends with LF. This includes the last line, which has no line ending at all in some of them. Make all files follow these rules and leave their names, folders and texts as they are.`,
          `To do for all files under \`${root}\`: uniform line endings. \`.${windows}\` files: CR LF. All other files: LF. The last line needs one as well, which some files lack at present. Nothing else about the files changes.`,
        ],
      ),
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
