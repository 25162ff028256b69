import type { Draws } from 'ot-agent'
import { adjectives, nouns, plainWords } from '../words.ts'
import { byLevel, file, type Operation } from '../work.ts'
import { simpleWork } from './simple-work.ts'

type Ini = Map<string, Map<string, string>>

function drawIni(random: Draws, sections: number): Ini {
  const ini: Ini = new Map()
  for (const section of random.few(nouns, sections)) {
    const keys = random.few(plainWords, random.int(3, 6))
    ini.set(
      section,
      new Map(
        keys.map((key) => [key, random.pick([String(random.int(1, 9999)), random.pick(adjectives), 'true', 'false'])]),
      ),
    )
  }
  return ini
}

function renderIni(ini: Ini): string {
  return [...ini]
    .map(([section, keys]) => `[${section}]\n${[...keys].map(([key, value]) => `${key} = ${value}\n`).join('')}\n`)
    .join('')
}

const iniEdit: Operation = {
  name: 'ini-edit',
  domains: ['config'],
  make: (draw) => {
    const { random, words, level, root } = draw
    const ini = drawIni(random, byLevel(level, 3, 5, 8))
    const name = `${random.pick(nouns)}.ini`
    const before = renderIni(ini)
    const says: string[] = []
    const programs: string[] = []
    for (const section of random.few([...ini.keys()], byLevel(level, 1, 2, 4))) {
      const keys = ini.get(section) ?? new Map<string, string>()
      const [key = '', other = ''] = random.few([...keys.keys()], 2)
      const value = random.pick([String(random.int(10_000, 99_999)), `new-${random.pick(adjectives)}`])
      keys.set(key, value)
      says.push(
        words.say(`in section \`${section}\`, set \`${key}\` to \`${value}\``, [
          `set \`${key}\` to \`${value}\` in section \`${section}\``,
          `give \`${key}\` in section \`${section}\` the value \`${value}\``,
          `section \`${section}\`: the value of \`${key}\` becomes \`${value}\``,
          `in section \`${section}\`, replace the value of \`${key}\` by \`${value}\``,
          `for \`${key}\` in section \`${section}\`, the new value is \`${value}\``,
        ]),
      )
      programs.push(`s == "[${section}]" && $1 == "${key}" { $0 = "${key} = ${value}" }`)
      if (level !== 'easy') {
        keys.delete(other)
        says.push(
          words.say(`in section \`${section}\`, remove the line of \`${other}\``, [
            `remove the line of \`${other}\` from section \`${section}\``,
            `delete the line with the key \`${other}\` in section \`${section}\``,
            `section \`${section}\`: drop the line of \`${other}\``,
            `in section \`${section}\`, the line for \`${other}\` has to go`,
            `take the whole line of \`${other}\` out of section \`${section}\``,
          ]),
        )
        programs.push(`s == "[${section}]" && $1 == "${other}" { next }`)
      }
    }
    const ask = [
      words.say(`${random.pick(['Edit', 'Change', 'Update'])} \`${root}/${name}\` in place:`, [
        `Make the following changes in the file \`${root}/${name}\` itself:`,
        `\`${root}/${name}\` needs some changes, made directly in that file:`,
        `Please apply what is listed here to \`${root}/${name}\`, in place:`,
        `Some edits to \`${root}/${name}\` are needed; change the file itself:`,
        `These edits are to be made in \`${root}/${name}\`, in place:`,
      ]),
      says.map((say) => `- ${say}`).join('\n'),
      words.say(
        random.pick([
          'The same key can be in other sections too; those stay. Keep the order of everything, the form `key = value`, and every other line byte by byte.',
          'Mind that keys repeat in other sections. All other lines, their order and the empty lines must stay as they are.',
        ]),
        [
          'Only the sections named above are meant: a key of the same name in another section stays as it is. All other lines remain the same byte for byte, the order of everything is kept, and lines keep the form `key = value`.',
          'Lines that are not mentioned above, empty ones included, must have the same bytes and the same order as before, and an edited line is still written as `key = value`. Watch out for keys with the same name in other sections, which you must not touch.',
          'Do not touch anything else: nothing is reordered, lines are still written as `key = value`, equal keys in other sections are not changed, and every remaining line, even an empty one, stays the same byte for byte.',
          'Whatever else is in the file, including empty lines and keys that have the same name but are in other sections, is kept byte by byte and in the same order. The lines that you change keep their form, `key = value`.',
        ],
      ),
    ]
    return simpleWork(draw, {
      domain: 'config',
      operation: 'ini-edit',
      shape: 'ini',
      ask,
      before: { [name]: file(before) },
      after: { [name]: file(renderIni(ini)) },
      solve: `new=$(mktemp)\nawk '/^\\[/ { s = $0 }\n${programs.join('\n')}\n{ print }' ${name} > "$new"\ncat "$new" > ${name}\nrm "$new"`,
    })
  },
}

const envMerge: Operation = {
  name: 'env-merge',
  domains: ['config'],
  make: (draw) => {
    const { random, words, level, root } = draw
    const layers = byLevel(level, 2, 3, 4)
    const keys = random.few(plainWords, byLevel(level, 6, 12, 20)).map((key) => key.toUpperCase())
    const files = Array.from({ length: layers }, (_, at) => {
      const own = random.few(keys, Math.ceil(keys.length * 0.6))
      return {
        name: `${at + 1}-${random.pick(['base', 'site', 'host', 'local', 'team'])}.env`,
        pairs: own.map((key) => [key, `${random.pick(adjectives)}-${random.int(1, 99)}`] as const),
      }
    })
    const unset = random.chance(0.5)
    const values = new Map(files.flatMap(({ pairs }) => pairs))
    const removed = unset ? random.few([...values.keys()], 2) : []
    const last = files.at(-1)
    if (!last) return null
    const text = (at: number) =>
      `${(files[at]?.pairs ?? []).map(([key, value]) => `${key}=${value}\n`).join('')}${at === layers - 1 ? removed.map((key) => `unset ${key}\n`).join('') : ''}`
    for (const key of removed) values.delete(key)
    const out = random.pick(['merged.env', 'final.env', 'effective.env'])
    const merged = [...values]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => `${key}=${value}\n`)
      .join('')
    const tree = Object.fromEntries(files.map(({ name }, at) => [name, file(text(at))]))
    const list = files.map(({ name }) => `\`${name}\``).join(', ')
    const ask = [
      words.say(
        random.pick([
          `In \`${root}\` there are settings in layers: ${list}. A later file wins over an earlier one, and within a file a later line over an earlier.${unset ? ' A line `unset KEY` takes the key away.' : ''} Write what holds in the end to \`${root}/${out}\`: lines \`KEY=value\`, sorted by key in byte order, each key once.`,
          `Merge ${list} (all in \`${root}\`) into \`${root}/${out}\`. The order given is the order of precedence, the last one being the strongest.${unset ? ' `unset KEY` means that KEY must not be in the result, whatever was said before.' : ''} One \`KEY=value\` per line, no key twice, sorted in byte order.`,
        ]),
        [
          `Settings are spread over several files in \`${root}\`, here from the weakest to the strongest: ${list}. If a key is set more than once, the later file counts, and within one file the later line.${unset ? ' A line `unset KEY` removes what was set for that key before.' : ''} Save the settings that result as \`${root}/${out}\`: lines of the form \`KEY=value\`, every key only once, in byte order of the keys.`,
          `\`${root}/${out}\` should hold the effective settings: one line \`KEY=value\` for each key, sorted by key in byte order. They come from ${list} in \`${root}\`, read in this order, where each line overrides what earlier lines and earlier files said about the same key.${unset ? ' Where a line says `unset KEY`, that key is dropped.' : ''}`,
          `Which settings are in effect after reading ${list} (all in \`${root}\`) one after the other, if the last line about a key wins?${unset ? ' A line can also be `unset KEY`, and then that key has no setting any more.' : ''} Write them to \`${root}/${out}\` as \`KEY=value\`, one per line, no key more than once, keys in byte order.`,
          `Input, in \`${root}\`, lowest precedence first: ${list}. Rule: what comes later, in a later file or on a later line of the same file, replaces what came earlier for the same key.${unset ? ' `unset KEY` deletes the key.' : ''} Output: \`${root}/${out}\` with the remaining settings, each key on one line as \`KEY=value\`, sorted by key (byte order).`,
        ],
      ),
      words.say('The layers themselves stay as they are.', [
        'Do not change the files that you merge.',
        'Leave the input files untouched.',
        'The files that are merged must not be changed.',
        'Nothing changes in the input files themselves.',
        'Keep all of the input files as they are.',
      ]),
    ]
    return simpleWork(draw, {
      domain: 'config',
      operation: 'env-merge',
      shape: 'env',
      ask,
      before: tree,
      after: { ...tree, [out]: file(merged) },
      solve: `cat ${files.map(({ name }) => name).join(' ')} | awk '/^unset / { delete v[$2]; next } { at = index($0, "="); v[substr($0, 1, at - 1)] = substr($0, at + 1) } END { for (k in v) print k "=" v[k] }' | sort > ${out}`,
    })
  },
}

const iniToEnv: Operation = {
  name: 'ini-to-env',
  domains: ['config'],
  make: (draw) => {
    const { random, words, level, root } = draw
    const ini = drawIni(random, byLevel(level, 2, 4, 7))
    const name = `${random.pick(nouns)}.conf`
    const prefix = random.pick(['APP', 'CFG', 'SVC', 'X'])
    const faulty = level !== 'easy'
    const text = renderIni(ini)
      .split('\n')
      .map((line) =>
        faulty && line.includes(' = ') && random.chance(0.4)
          ? random.pick([`  ${line}`, `${line}  `, line.replace(' = ', '=')])
          : line,
      )
      .join('\n')
    const out = `${random.pick(['settings', 'export', 'vars'])}.env`
    const lines = [...ini].flatMap(([section, keys]) =>
      [...keys].map(([key, value]) => `${prefix}_${section}_${key}`.toUpperCase().concat(`=${value}\n`)),
    )
    const ask = [
      words.say(
        random.pick([
          `Turn \`${root}/${name}\` (sections in brackets, \`key = value\` lines) into environment variables: one line \`${prefix}_SECTION_KEY=value\` for each key, names in upper case, values as they are, in the order of the file. Write them to \`${root}/${out}\`.`,
          `A program wants \`${root}/${name}\` as variables. For \`key = value\` in section \`[name]\` it needs a line \`${prefix}_NAME_KEY=value\` (all of the variable in capitals, the value unchanged) in \`${root}/${out}\`, in the same order.`,
        ]),
        [
          `Convert \`${root}/${name}\`, which has sections in brackets with lines \`key = value\`, into variables. Each key gives one line \`${prefix}_SECTION_KEY=value\`, where SECTION is the name of its section and KEY the key itself, both turned into capitals; the value is copied without change. Put these lines into \`${root}/${out}\`, in the order of the file.`,
          `\`${root}/${out}\` should have one environment variable per key of \`${root}/${name}\`, in the same order as there. The input consists of sections, with their names in brackets, and of lines \`key = value\`; the output has lines \`${prefix}_SECTION_KEY=value\`, with the section and the key in upper case and the value exactly as it was.`,
          `Could you export \`${root}/${name}\` for a program that only reads environment variables? For every \`key = value\` below the section header \`[name]\`, write a line \`${prefix}_NAME_KEY=value\` to \`${root}/${out}\`: upper case for all that is before the \`=\`, no change to the value, and the keys in the order in which they come.`,
          `From: \`${root}/${name}\`, an INI file (section names in brackets, settings as \`key = value\`). To: \`${root}/${out}\`, one line \`${prefix}_SECTION_KEY=value\` for each setting, in the order of the input. The variable's name is all upper case, also the parts taken from the section and the key; the value stays the same.`,
        ],
      ),
      ...(faulty
        ? [
            words.say(
              'There may be spaces before a key, around the `=` or none there, and spaces at the end of a line: none of them belong to key or value.',
              [
                'Ignore spaces in front of a key, on either side of the `=` (where there may also be none) and at the end of a line; they are part of neither the key nor the value.',
                'The lines are not written uniformly: some begin or end with spaces, and the `=` has spaces around it or not. Such spaces do not belong to the key or the value.',
                'Neither key nor value includes the spaces around it, be they at the beginning of the line, next to the `=` (some lines have none there) or at the end of the line.',
                'Strip keys and values: a line can have spaces before the key, spaces or no spaces around the `=`, and spaces after the value.',
              ],
            ),
          ]
        : []),
      words.say('The input stays unchanged.', [
        'Do not change the input.',
        'Leave the input file as it is.',
        'The input file must not be modified.',
        'Keep the input just as it is.',
        `\`${root}/${name}\` itself is not to be changed.`,
      ]),
    ]
    return simpleWork(draw, {
      domain: 'config',
      operation: 'ini-to-env',
      shape: 'ini',
      faults: faulty ? ['padded-cells'] : [],
      ask,
      before: { [name]: file(text) },
      after: { [name]: file(text), [out]: file(lines.join('')) },
      solve: `awk '/^\\[/ { s = substr($0, 2, index($0, "]") - 2); next } index($0, "=") { at = index($0, "="); k = substr($0, 1, at - 1); v = substr($0, at + 1); gsub(/^ +| +$/, "", k); gsub(/^ +| +$/, "", v); print toupper("${prefix}_" s "_" k) "=" v }' ${name} > ${out}`,
    })
  },
}

const renameKey: Operation = {
  name: 'rename-key',
  domains: ['config'],
  make: (draw) => {
    const { random, words, level, root } = draw
    const [key = '', longer = ''] = random.few(plainWords, 2)
    const to = `${random.pick(adjectives)}_${key}`
    const files = Array.from({ length: byLevel(level, 3, 6, 10) }, (_, at) => {
      const lines = random.shuffle([
        `${key}: ${random.int(1, 99)}`,
        `${key}_${longer}: ${random.int(1, 99)}`,
        `my${key}: ${random.pick(adjectives)}`,
        `${longer}: see ${key}: here`,
        ...random.few(plainWords, 4).map((word) => `${word}x: ${random.int(1, 999)}`),
      ])
      const has = random.chance(0.7)
      return [
        `${random.pick(['conf', 'etc', 'settings'])}/${at}-${random.pick(nouns)}.yaml`,
        has ? lines : lines.filter((line) => !line.startsWith(`${key}:`)),
      ] as const
    })
    const render = (change: (line: string) => string) =>
      Object.fromEntries(files.map(([path, lines]) => [path, file(lines.map((line) => `${change(line)}\n`).join(''))]))
    const ask = [
      words.say(
        random.pick([
          `The setting \`${key}\` is now called \`${to}\`. Change it in all \`.yaml\` files below \`${root}\`, but only where \`${key}\` is the whole key at the beginning of a line, directly followed by \`:\`.`,
          `Rename the key \`${key}\` to \`${to}\` in every \`.yaml\` file under \`${root}\`. A key starts a line and ends at the first \`:\`; other keys that contain \`${key}\`, and values, must not change.`,
        ]),
        [
          `In the \`.yaml\` files anywhere below \`${root}\`, the key \`${key}\` gets the new name \`${to}\`. It is to be renamed wherever a line begins with exactly this key, with the \`:\` right after it; longer keys that contain \`${key}\`, and values, stay as they are.`,
          `Which lines in the \`.yaml\` files of \`${root}\` and its sub-folders start with \`${key}\` immediately followed by \`:\`? On each of them, write \`${to}\` in place of that key. Where \`${key}\` occurs otherwise, as a part of another key or in a value, do not change it.`,
          `\`${key}\` has become \`${to}\`: please update every \`.yaml\` file in the tree \`${root}\`. Only the key itself is meant, which is \`${key}\` at the very beginning of a line and directly before a \`:\`. The same letters inside other keys or in values must stay.`,
          `Files: all that end in \`.yaml\` below \`${root}\`, at any depth. Change: a line whose key is \`${key}\`, nothing more and nothing less, gets the key \`${to}\`; the key is what stands from the start of the line to its first \`:\`. No change: values, and other keys that merely contain \`${key}\`.`,
        ],
      ),
    ]
    return simpleWork(draw, {
      domain: 'config',
      operation: 'rename-key',
      shape: 'yaml',
      ask,
      before: render((line) => line),
      after: render((line) => (line.startsWith(`${key}:`) ? `${to}${line.slice(key.length)}` : line)),
      solve: `find . -name '*.yaml' -exec sed -i 's/^${key}:/${to}:/' {} +`,
    })
  },
}

const template: Operation = {
  name: 'render-template',
  domains: ['config'],
  make: (draw) => {
    const { random, words, level, root } = draw
    const names = random.few(nouns, byLevel(level, 4, 6, 9))
    const values = new Map(names.map((name) => [name, `${random.pick(adjectives)}${random.int(10, 99)}`]))
    const known = names.slice(1)
    const line = () =>
      `${random.pick(plainWords)} ${random.pick(['<', '(', ''])}{{${random.pick(names)}}} ${random.pick(plainWords)}${random.chance(0.4) ? ` {{ ${random.pick(names)} }}` : ''}`
    const text = Array.from({ length: byLevel(level, 5, 10, 20) }, () => `${line()}\n`).join('')
    const missing = random.pick(['???', 'UNSET', '-'])
    const result = text.replace(/\{\{ ?([a-z]+) ?\}\}/g, (_, name: string) =>
      known.includes(name) ? (values.get(name) ?? '') : missing,
    )
    const [from, out] = [
      `${random.pick(['page', 'motd', 'unit', 'letter'])}.tmpl`,
      random.pick(['rendered.txt', 'out.txt', 'final.txt']),
    ]
    const data = known.map((name) => `${name}=${values.get(name)}\n`).join('')
    const before = { [from]: file(text), 'values.txt': file(data) }
    const ask = [
      words.say(
        random.pick([
          `Fill in the template \`${root}/${from}\`: replace every \`{{name}}\`, also when there is one space inside the braces on both sides, by the value of that name in \`${root}/values.txt\` (lines \`name=value\`). A name that is not there becomes \`${missing}\`. Write \`${root}/${out}\`.`,
          `Produce \`${root}/${out}\` from \`${root}/${from}\` by putting in the values of \`${root}/values.txt\` (one \`name=value\` per line) for the placeholders, which look like \`{{name}}\` or \`{{ name }}\`; where there is no value put \`${missing}\`.`,
        ]),
        [
          `\`${root}/${from}\` is a template with placeholders of the form \`{{name}}\` or, with a space on each side, \`{{ name }}\`. Put in place of each one the value that \`${root}/values.txt\` has for its name (its lines are \`name=value\`), or \`${missing}\` if the name is not in that file. The result goes to \`${root}/${out}\`.`,
          `\`${root}/${out}\` should be a copy of \`${root}/${from}\` in which every placeholder, written \`{{name}}\` or \`{{ name }}\`, has given way to a value. The values are in \`${root}/values.txt\`, one \`name=value\` per line; names without a value there are replaced by \`${missing}\`.`,
          `Please render \`${root}/${from}\`. What does each \`{{name}}\` stand for, or each \`{{ name }}\`, which means the same? Look in \`${root}/values.txt\`, whose lines are \`name=value\`, and insert the value instead of the placeholder with its braces; insert \`${missing}\` if there is no such name. Save the text as \`${root}/${out}\`.`,
          `Template: \`${root}/${from}\`. Values: \`${root}/values.txt\`, lines \`name=value\`. Output: \`${root}/${out}\`. To be replaced: all placeholders, that is, a name in double braces, either with no spaces as in \`{{name}}\` or with one space before and one after it as in \`{{ name }}\`. Replacement: the value of the name, and \`${missing}\` for names that have none.`,
        ],
      ),
    ]
    return simpleWork(draw, {
      domain: 'config',
      operation: 'render-template',
      shape: 'template',
      ask,
      before,
      after: { ...before, [out]: file(result) },
      solve: `script=$(mktemp)\nwhile IFS== read -r name value; do echo "s/{{ *$name *}}/$value/g"; done < values.txt > "$script"\necho 's/{{ *[a-z]* *}}/${missing}/g' >> "$script"\nsed -f "$script" ${from} > ${out}\nrm "$script"`,
    })
  },
}

/** Operations on configuration files. */
export const configOperations: readonly Operation[] = [iniEdit, envMerge, iniToEnv, renameKey, template]
