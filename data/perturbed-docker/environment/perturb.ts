import { posix } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { DraftFile, Random } from 'ot-agent'
import { targetOf, workdirOf } from './orders.ts'

/** The parts of a task that concern its environment. */
export interface Furnished {
  readonly instruction: string
  readonly dockerfile: string
  /** The task's files by path, without the Dockerfile. */
  readonly files: Readonly<Record<string, DraftFile>>
}

/** One way to make an environment less friendly without changing the work. */
export interface Perturbation {
  readonly name: string
  /** How much harder it makes the task, and how much it merely distracts. */
  readonly difficulty: number
  readonly noise: number
  /** Null where it cannot be applied. */
  apply(task: Furnished, random: Random): Furnished | null
}

/** Data that the task starts from, not programs and settings: these are often what has to be changed. */
const inputs = ({ files }: Furnished) =>
  Object.keys(files).filter(
    (path) =>
      /^environment\/[\w./-]+\.(?:txt|csv|tsv|jsonl?|log|xml|ya?ml|md|dat|list)$/.test(path) &&
      typeof files[path]?.data === 'string',
  )
const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/**
 * Inputs that the instruction names, with their paths in the image. If several files are meant together, none of them
 * counts as named.
 */
function namedInputs(task: Furnished): { readonly path: string; readonly name: string; readonly target: string }[] {
  return inputs(task).flatMap((path) => {
    const name = posix.basename(path)
    const target = targetOf(task.dockerfile, path.slice('environment/'.length))?.path
    return target !== undefined && posix.basename(target) === name && task.instruction.includes(name)
      ? [{ path, name, target }]
      : []
  })
}

/** Moves the work folder; if every path is given in full, commands do not start in it either. */
const elsewhere: Perturbation = {
  name: 'elsewhere',
  difficulty: 2,
  noise: 0,
  apply: ({ instruction, dockerfile, files }, random) => {
    const from = workdirOf(dockerfile)
    if (!/^\/(?:app|srv|opt|work\w*|home|data|code|project)\b/.test(from) || !instruction.includes(from)) return null
    const dir = `/${random.pick(['srv', 'opt', 'var/lib'])}/${random.pick(['depot', 'yard', 'vault'])}-${random.below(900) + 100}`
    const moved = (text: string) => text.replace(new RegExp(`(?<![\\w.-])${escaped(from)}(?![\\w.-])`, 'g'), dir)
    const entries = Object.entries(files).map(
      ([path, file]) => [path, typeof file.data === 'string' ? { ...file, data: moved(file.data) } : file] as const,
    )
    const isRelative = /(?<![\w/.~-])[\w-]+\.[a-z]\w{0,4}\b/.test(instruction)
    return {
      instruction: moved(instruction),
      dockerfile: `${moved(dockerfile).trimEnd()}\n${isRelative ? '' : 'WORKDIR /\n'}`,
      files: Object.fromEntries(entries),
    }
  },
}

/** Puts an old, almost identical copy next to each input. */
const decoys: Perturbation = {
  name: 'decoys',
  difficulty: 1,
  noise: 1,
  apply: (task, random) => {
    // If the task is about all files in a folder, a copy would be one of them.
    if (/\*\.\w|\b(?:all|every|each|any)\b[^.]{0,40}\bfiles?\b/i.test(task.instruction)) return null
    const found = namedInputs(task).filter(({ path }) => linesOf(task, path).length > 2)
    if (found.length === 0) return null
    const old = found.map(({ path, name, target }) => {
      const lines = linesOf(task, path)
      const other = name.replace(/(\.[^.]*)?$/, (ending) => `${random.pick(['-old', '.bak', '-copy'])}${ending}`)
      const data = `${random.sample(lines, Math.ceil(lines.length * 0.7)).join('\n')}\n`
      return { source: posix.join(posix.dirname(path), other), data, to: posix.join(posix.dirname(target), other) }
    })
    return {
      ...task,
      dockerfile: `${task.dockerfile.trimEnd()}\n${old.map(({ source, to }) => `COPY ${source.slice('environment/'.length)} ${to}\n`).join('')}`,
      files: { ...task.files, ...Object.fromEntries(old.map(({ source, data }) => [source, { data }])) },
    }
  },
}

function linesOf({ files }: Furnished, path: string): string[] {
  return String(files[path]?.data).trimEnd().split('\n')
}

/** Packs an input; the solution unpacks it first. */
const packed: Perturbation = {
  name: 'packed',
  difficulty: 2,
  noise: 0,
  apply: (task, random) => {
    const { 'solution/solve.sh': solve } = task.files
    const tests = Object.entries(task.files).filter(([path]) => path.startsWith('tests/'))
    // Tests that read an input themselves would miss it, unless the agent leaves it there unpacked.
    const isTested = (name: string) => tests.some(([, { data }]) => String(data).includes(name))
    const named = namedInputs(task).filter(
      ({ path, name, target }) =>
        targetOf(task.dockerfile, path.slice('environment/'.length))?.alone &&
        !new RegExp(`^\\s*RUN\\b.*${escaped(target)}`, 'm').test(task.dockerfile) &&
        !isTested(name),
    )
    if (named.length === 0 || typeof solve?.data !== 'string') return null
    const { path, name, target } = random.pick(named)
    const { [path]: plain, ...others } = task.files
    const [first = '', ...rest] = solve.data.split('\n')
    const unpack = `gunzip -kf ${target}.gz`
    const source = path.slice('environment/'.length)
    const order = targetOf(task.dockerfile, source)?.alone?.text ?? ''
    return {
      instruction: `${task.instruction.trimEnd()}\n\n\`${name}\` was packed with gzip to save space: it is there as \`${name}.gz\`.\n`,
      dockerfile: task.dockerfile.replace(order, `COPY ${source}.gz ${target}.gz\n`),
      files: {
        ...others,
        [`${path}.gz`]: { data: gzipSync(String(plain?.data ?? ''), { level: 9 }) },
        'solution/solve.sh': {
          ...solve,
          data: first.startsWith('#!') ? [first, unpack, ...rest].join('\n') : `${unpack}\n${solve.data}`,
        },
      },
    }
  },
}

/** Makes the inputs read-only. */
const readOnly: Perturbation = {
  name: 'read-only',
  difficulty: 1,
  noise: 0,
  apply: (task) => {
    if (/\b(?:fix|repair|modif|edit|update|correct|clean|rewrite|in place)/i.test(task.instruction)) return null
    const found = namedInputs(task).map(({ target }) => target)
    if (found.length === 0) return null
    return { ...task, dockerfile: `${task.dockerfile.trimEnd()}\nRUN chmod 0444 ${found.join(' ')}\n` }
  },
}

/** A terminal with few abilities, and an editor that does nothing. */
const poorTerminal: Perturbation = {
  name: 'poor-terminal',
  difficulty: 0,
  noise: 1,
  apply: (task) => ({
    ...task,
    dockerfile: `${task.dockerfile.trimEnd()}\nENV TERM=dumb EDITOR=/bin/false PAGER=cat\n`,
  }),
}

export const perturbations: readonly Perturbation[] = [packed, decoys, readOnly, poorTerminal, elsewhere]

export interface Variant extends Furnished {
  readonly perturbations: readonly string[]
  /**
   * The ranking of perturbed environments: 100 for being solvable, plus 10 for each degree of difficulty, minus the
   * noise.
   */
  readonly score: number
}

/** E4: variants of an environment, best-ranked first; the task check decides whether each can still be solved. */
export function perturb(task: Furnished, random: Random, count: number): Variant[] {
  const seen = new Set<string>()
  const variants: Variant[] = []
  for (let tries = 0; tries < count * 4; tries++) {
    const chosen = random.sample(perturbations, 1 + random.below(3))
    let made = task
    const applied: Perturbation[] = []
    for (const perturbation of chosen) {
      const next = perturbation.apply(made, random)
      if (next === null) continue
      made = next
      applied.push(perturbation)
    }
    const names = applied.map(({ name }) => name)
    const sum = (key: 'difficulty' | 'noise') => applied.reduce((total, { [key]: value }) => total + value, 0)
    // Distractions alone do not make a task harder.
    if (sum('difficulty') === 0 || seen.has(names.join())) continue
    seen.add(names.join())
    variants.push({ ...made, perturbations: names, score: 100 + 10 * sum('difficulty') - sum('noise') })
  }
  return variants.sort((a, b) => b.score - a.score).slice(0, count)
}
