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
    const { random, level, root } = draw
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
      says.push(`in section \`${section}\`, set \`${key}\` to \`${value}\``)
      programs.push(`s == "[${section}]" && $1 == "${key}" { $0 = "${key} = ${value}" }`)
      if (level !== 'easy') {
        keys.delete(other)
        says.push(`in section \`${section}\`, remove the line of \`${other}\``)
        programs.push(`s == "[${section}]" && $1 == "${other}" { next }`)
      }
    }
    const ask = [
      `${random.pick(['Edit', 'Change', 'Update'])} \`${root}/${name}\` in place:`,
      says.map((say) => `- ${say}`).join('\n'),
      random.pick([
        'The same key can be in other sections too; those stay. Keep the order of everything, the form `key = value`, and every other line byte by byte.',
        'Mind that keys repeat in other sections. All other lines, their order and the empty lines must stay as they are.',
      ]),
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
    const { random, level, root } = draw
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
      random.pick([
        `In \`${root}\` there are settings in layers: ${list}. A later file wins over an earlier one, and within a file a later line over an earlier.${unset ? ' A line `unset KEY` takes the key away.' : ''} Write what holds in the end to \`${root}/${out}\`: lines \`KEY=value\`, sorted by key in byte order, each key once.`,
        `Merge ${list} (all in \`${root}\`) into \`${root}/${out}\`. The order given is the order of precedence, the last one being the strongest.${unset ? ' `unset KEY` means that KEY must not be in the result, whatever was said before.' : ''} One \`KEY=value\` per line, no key twice, sorted in byte order.`,
      ]),
      'The layers themselves stay as they are.',
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
    const { random, level, root } = draw
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
      random.pick([
        `Turn \`${root}/${name}\` (sections in brackets, \`key = value\` lines) into environment variables: one line \`${prefix}_SECTION_KEY=value\` for each key, names in upper case, values as they are, in the order of the file. Write them to \`${root}/${out}\`.`,
        `A program wants \`${root}/${name}\` as variables. For \`key = value\` in section \`[name]\` it needs a line \`${prefix}_NAME_KEY=value\` (all of the variable in capitals, the value unchanged) in \`${root}/${out}\`, in the same order.`,
      ]),
      ...(faulty
        ? [
            'There may be spaces before a key, around the `=` or none there, and spaces at the end of a line: none of them belong to key or value.',
          ]
        : []),
      'The input stays unchanged.',
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
    const { random, level, root } = draw
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
      random.pick([
        `The setting \`${key}\` is now called \`${to}\`. Change it in all \`.yaml\` files below \`${root}\`, but only where \`${key}\` is the whole key at the beginning of a line, directly followed by \`:\`.`,
        `Rename the key \`${key}\` to \`${to}\` in every \`.yaml\` file under \`${root}\`. A key starts a line and ends at the first \`:\`; other keys that contain \`${key}\`, and values, must not change.`,
      ]),
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
    const { random, level, root } = draw
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
      random.pick([
        `Fill in the template \`${root}/${from}\`: replace every \`{{name}}\`, also when there is one space inside the braces on both sides, by the value of that name in \`${root}/values.txt\` (lines \`name=value\`). A name that is not there becomes \`${missing}\`. Write \`${root}/${out}\`.`,
        `Produce \`${root}/${out}\` from \`${root}/${from}\` by putting in the values of \`${root}/values.txt\` (one \`name=value\` per line) for the placeholders, which look like \`{{name}}\` or \`{{ name }}\`; where there is no value put \`${missing}\`.`,
      ]),
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
