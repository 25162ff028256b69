import { expandAt } from './expand.ts'
import type { Dockerfile, Stage } from './instruction.ts'
import { findStage, firstState, planStage, type StageState } from './plan-stage.ts'
import type { ImageConfig, Plan, PlannedStage } from './step.ts'
import { dockerfileError } from './words.ts'

/** Expands every variable and resolves every reference between stages; errors name the line. */
export function planDockerfile(dockerfile: Dockerfile, platform: string): Plan {
  const { file } = dockerfile
  const globals = expandGlobals(dockerfile, platform)
  const bases = dockerfile.stages.map((stage, index) => findBase(dockerfile, stage, index, globals))
  const needed = findNeeded(dockerfile, bases)
  const states = new Map<number, StageState>()
  const notes: string[] = []
  const stages: PlannedStage[] = []
  for (const [index, stage] of dockerfile.stages.entries()) {
    const base = bases[index]
    if (!needed.has(index) || base === undefined) continue
    const wanted = stage.platform === null ? platform : expandAt(stage.platform, globals, { file, line: stage.line })
    if ('image' in base && base.image === 'scratch') {
      throw dockerfileError({ file, line: stage.line }, 'FROM scratch has no programs to run a task with')
    }
    if (wanted !== platform) notes.push(`${file}:${stage.line}: asks for ${wanted}; this machine is ${platform}`)
    const state = firstState('stage' in base ? states.get(base.stage) : undefined)
    const steps = planStage({ dockerfile, stage, index, globals, state, notes })
    states.set(index, state)
    stages.push({ index, line: stage.line, base, steps, config: configOf(state) })
  }
  return { file, stages, notes }
}

/**
 * The external images a Dockerfile starts from: the line, the word as written, and its expansion. `args` are values for
 * its ARGs.
 */
export function basesOf(
  dockerfile: Dockerfile,
  args: Readonly<Record<string, string>> = {},
): { line: number; written: string; image: string }[] {
  const globals = expandGlobals(dockerfile, `linux/${process.arch === 'x64' ? 'amd64' : process.arch}`, args)
  return dockerfile.stages.flatMap((stage, index) => {
    const base = findBase(dockerfile, stage, index, globals)
    return 'image' in base && base.image !== 'scratch'
      ? [{ line: stage.line, written: stage.image, image: base.image }]
      : []
  })
}

type Base = PlannedStage['base']

/** ARGs before the first FROM, plus Docker's platform variables. */
function expandGlobals(
  dockerfile: Dockerfile,
  platform: string,
  given: Readonly<Record<string, string>> = {},
): Map<string, string> {
  const [os = '', arch = '', variant = ''] = platform.split('/')
  const globals = new Map<string, string>()
  for (const side of ['TARGET', 'BUILD']) {
    globals
      .set(`${side}PLATFORM`, platform)
      .set(`${side}OS`, os)
      .set(`${side}ARCH`, arch)
      .set(`${side}VARIANT`, variant)
  }
  for (const { line, args } of dockerfile.globalArgs) {
    for (const { name, value } of args) {
      const own = Object.hasOwn(given, name) ? given[name] : undefined
      if (own !== undefined) globals.set(name, own)
      if (own !== undefined || value === null) continue
      globals.set(name, expandAt(value, globals, { file: dockerfile.file, line }, dockerfile))
    }
  }
  return globals
}

function findBase(dockerfile: Dockerfile, stage: Stage, index: number, globals: ReadonlyMap<string, string>): Base {
  const at = { file: dockerfile.file, line: stage.line }
  const image = expandAt(stage.image, globals, at, dockerfile)
  const earlier = dockerfile.stages.slice(0, index).findLastIndex(({ name }) => name === image.toLowerCase())
  if (earlier >= 0) return { stage: earlier }
  if (!/^[a-zA-Z0-9][a-zA-Z0-9._\-/:@]*$/.test(image) || image.includes('..')) {
    throw dockerfileError(at, `expected the name of an image, got ${JSON.stringify(image)}`)
  }
  return { image }
}

/** The last stage and, transitively, every stage that one of these starts from or copies from. */
function findNeeded(dockerfile: Dockerfile, bases: readonly Base[]): ReadonlySet<number> {
  const needed = new Set([dockerfile.stages.length - 1])
  for (const index of needed) {
    const base = bases[index]
    if (base && 'stage' in base) needed.add(base.stage)
    for (const instruction of dockerfile.stages[index]?.instructions ?? []) {
      if (instruction.kind !== 'copy' || instruction.from === null) continue
      const from = findStage(dockerfile, instruction.from, index)
      if (from !== null) needed.add(from)
    }
  }
  return needed
}

function configOf(state: StageState): ImageConfig {
  const { workdir, user, entrypoint, healthcheck } = state
  return { env: Object.fromEntries(state.env), workdir, user, entrypoint, healthcheck }
}
