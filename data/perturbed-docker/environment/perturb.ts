import { gzipSync } from 'node:zlib'
import type { DraftFile, Random } from 'ot-agent'

/** A task as far as its environment is concerned. */
export interface Furnished {
  readonly instruction: string
  readonly dockerfile: string
  /** Files of the task by their paths, without the Dockerfile. */
  readonly files: Readonly<Record<string, DraftFile>>
}

/** One way to make an environment less friendly without changing what has to be done. */
export interface Perturbation {
  readonly name: string
  /** How much harder it makes the task, and how much it only distracts. */
  readonly difficulty: number
  readonly noise: number
  /** Null where it cannot be applied. */
  apply(task: Furnished, random: Random): Furnished | null
}

const inputs = ({ files }: Furnished) =>
  Object.keys(files).filter((path) => /^environment\/[\w.-]+$/.test(path) && typeof files[path]?.data === 'string')
const baseOf = (path: string) => path.slice('environment/'.length)

/** The work folder is elsewhere, and commands do not start in it. */
const elsewhere: Perturbation = {
  name: 'elsewhere',
  difficulty: 2,
  noise: 0,
  apply: ({ instruction, dockerfile, files }, random) => {
    const dir = `/${random.pick(['srv', 'opt', 'var/lib'])}/${random.pick(['depot', 'yard', 'vault'])}-${random.below(900) + 100}`
    const moved = (text: string) => text.replace(/(?<![\w.-])\/app(?![\w.-])/g, dir)
    const entries = Object.entries(files).map(
      ([path, file]) => [path, typeof file.data === 'string' ? { ...file, data: moved(file.data) } : file] as const,
    )
    return {
      instruction: moved(instruction),
      dockerfile: `${moved(dockerfile).trimEnd()}\nWORKDIR /\n`,
      files: Object.fromEntries(entries),
    }
  },
}

/** Beside each input lies an old copy of it that is almost the same. */
const decoys: Perturbation = {
  name: 'decoys',
  difficulty: 1,
  noise: 1,
  apply: (task, random) => {
    const found = inputs(task).filter((path) => String(task.files[path]?.data).trim().split('\n').length > 2)
    if (found.length === 0) return null
    const old = found.map((path) => {
      const lines = String(task.files[path]?.data).trimEnd().split('\n')
      const name = baseOf(path).replace(/(\.[^.]*)?$/, (ending) => `${random.pick(['-old', '.bak', '-copy'])}${ending}`)
      return [name, { data: `${random.sample(lines, Math.ceil(lines.length * 0.7)).join('\n')}\n` }] as const
    })
    const copies = old.map(([name]) => `COPY ${name} /app/${name}\n`).join('')
    return {
      ...task,
      dockerfile: `${task.dockerfile.trimEnd()}\n${copies}`,
      files: { ...task.files, ...Object.fromEntries(old.map(([name, file]) => [`environment/${name}`, file])) },
    }
  },
}

/** An input comes packed; the solution unpacks it first. */
const packed: Perturbation = {
  name: 'packed',
  difficulty: 2,
  noise: 0,
  apply: (task, random) => {
    const named = inputs(task).filter(
      (path) =>
        task.instruction.includes(baseOf(path)) &&
        task.dockerfile.includes(`COPY ${baseOf(path)} /app/${baseOf(path)}\n`),
    )
    const { 'solution/solve.sh': solve } = task.files
    if (named.length === 0 || typeof solve?.data !== 'string') return null
    const path = random.pick(named)
    const name = baseOf(path)
    const { [path]: plain, ...others } = task.files
    const [first = '', ...rest] = solve.data.split('\n')
    const unpack = `gunzip -kf /app/${name}.gz`
    return {
      instruction: `${task.instruction.trimEnd()}\n\n\`${name}\` was packed with gzip to save space: it is there as \`${name}.gz\`.\n`,
      dockerfile: task.dockerfile.replace(`COPY ${name} /app/${name}\n`, `COPY ${name}.gz /app/${name}.gz\n`),
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

/** The inputs are read-only. */
const readOnly: Perturbation = {
  name: 'read-only',
  difficulty: 1,
  noise: 0,
  apply: (task) => {
    const found = inputs(task)
      .map(baseOf)
      .filter((name) => task.dockerfile.includes(` /app/${name}\n`))
    if (found.length === 0) return null
    return {
      ...task,
      dockerfile: `${task.dockerfile.trimEnd()}\nRUN chmod 0444 ${found.map((name) => `/app/${name}`).join(' ')}\n`,
    }
  },
}

/** A terminal that can do little, and an editor that does nothing. */
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
  /** As perturbed environments are ranked: 100 for what can be solved, 10 for each degree of difficulty, less the noise. */
  readonly score: number
}

/** E4: variants of an environment, the best-ranked first; whether each can still be solved is for the check of tasks to say. */
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
    if (names.length === 0 || seen.has(names.join())) continue
    seen.add(names.join())
    const sum = (key: 'difficulty' | 'noise') => applied.reduce((total, { [key]: value }) => total + value, 0)
    variants.push({ ...made, perturbations: names, score: 100 + 10 * sum('difficulty') - sum('noise') })
  }
  return variants.sort((a, b) => b.score - a.score).slice(0, count)
}
