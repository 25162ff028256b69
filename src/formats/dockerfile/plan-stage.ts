import { posix } from 'node:path'
import type { Healthcheck } from '../../core/task.ts'
import { shellQuote } from '../../lib/shell.ts'
import { expandAt } from './expand.ts'
import type {
  Argument,
  Command,
  CopyInstruction,
  Dockerfile,
  HealthcheckInstruction,
  Instruction,
  RunInstruction,
  Stage,
} from './instruction.ts'
import { parseHeredocMark } from './lines.ts'
import { type CopyStep, type DirectoryStep, type InlineFile, type RunStep, type Step, scriptsDir } from './step.ts'
import { dockerfileError, type Place } from './words.ts'

/** The state at one point of a stage. */
export interface StageState {
  readonly env: Map<string, string>
  readonly args: Map<string, string>
  workdir: string
  user: string | undefined
  shell: readonly string[]
  entrypoint: readonly string[] | null
  healthcheck: Healthcheck | null
}

const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const defaultShell = ['/bin/sh', '-c']

/** A stage's initial state: the final state of the stage it is based on, or Docker's defaults. */
export function firstState(base: StageState | undefined): StageState {
  if (base) return { ...base, env: new Map(base.env), args: new Map(base.args) }
  return {
    env: new Map([['PATH', defaultPath]]),
    args: new Map(),
    workdir: '/',
    user: undefined,
    shell: defaultShell,
    entrypoint: null,
    healthcheck: null,
  }
}

export interface StageContext {
  readonly dockerfile: Dockerfile
  readonly stage: Stage
  readonly index: number
  readonly globals: ReadonlyMap<string, string>
  /** Changes as the stage proceeds. */
  readonly state: StageState
  /** Appended to. */
  readonly notes: string[]
}

/** The steps of one stage. */
export function planStage(context: StageContext): Step[] {
  return context.stage.instructions.flatMap((instruction) => new Planner(context, instruction.line).plan(instruction))
}

/** Applies one instruction to the state of its stage. */
class Planner {
  private readonly at: Place
  private readonly state: StageState

  constructor(
    private readonly context: StageContext,
    line: number,
  ) {
    this.at = { file: context.dockerfile.file, line }
    this.state = context.state
  }

  plan(instruction: Instruction): Step[] {
    const { state } = this
    switch (instruction.kind) {
      case 'run':
        return [this.run(instruction)]
      case 'copy':
        return [this.copy(instruction)]
      case 'env': {
        const pairs = instruction.pairs.map(([name, value]) => [name, this.expand(value)] as const)
        for (const [name, value] of pairs) state.env.set(name, value)
        return []
      }
      case 'arg':
        for (const argument of instruction.args) this.declare(argument)
        return []
      case 'workdir':
        state.workdir = this.absolute(this.expand(instruction.path))
        return state.workdir === '/' ? [] : [this.directory('WORKDIR', state.workdir, state.user)]
      case 'volume':
        return instruction.paths.map((path) => this.directory('VOLUME', this.absolute(this.expand(path)), undefined))
      case 'user':
        state.user = this.expand(instruction.user).replace(/^(root|0):(root|0)$/, 'root')
        if (state.user === '') throw dockerfileError(this.at, 'USER is empty')
        return []
      case 'shell':
        state.shell = instruction.argv
        return []
      case 'entrypoint': {
        const argv = this.argvOf(instruction.command)
        state.entrypoint = argv.length > 0 ? argv : null
        return []
      }
      case 'healthcheck':
        state.healthcheck = this.healthcheck(instruction)
        return []
      case 'refused':
        throw dockerfileError(this.at, instruction.reason)
      case 'cmd':
      case 'label':
        return []
    }
  }

  /** ENV takes precedence over an ARG of the same name. */
  private variables(): Map<string, string> {
    return new Map([...this.state.args, ...this.state.env])
  }

  private expand(text: string): string {
    return expandAt(text, this.variables(), this.at, this.context.dockerfile)
  }

  /** An ARG without a default takes the value from before the first FROM. */
  private declare({ name, value }: Argument): void {
    const given = value === null ? this.context.globals.get(name) : this.expand(value)
    if (given !== undefined) this.state.args.set(name, given)
  }

  private absolute(path: string): string {
    const joined = posix.resolve('/', this.state.workdir, path)
    if (joined.includes('\0')) throw dockerfileError(this.at, 'a path holds a NUL')
    return joined
  }

  private directory(name: string, path: string, user: string | undefined): DirectoryStep {
    return { kind: 'directory', line: this.at.line, title: `${name} ${path}`, path, user }
  }

  private argvOf(command: Command): readonly string[] {
    return command.form === 'exec' ? command.argv : [...this.state.shell, command.text]
  }

  private run(instruction: RunInstruction): RunStep {
    for (const mount of instruction.mounts) this.checkMount(mount.type)
    const { user, workdir } = this.state
    const env = Object.fromEntries(this.variables())
    const started = this.command(instruction)
    if (started.argv.length === 0) throw dockerfileError(this.at, 'RUN needs a command')
    const common = { kind: 'run', line: this.at.line, env, user, workdir, network: instruction.network } as const
    return { ...common, title: `RUN ${oneLine(started.argv.at(-1) ?? '')}`, ...started }
  }

  private checkMount(type: string): void {
    if (type === 'bind')
      throw dockerfileError(this.at, 'RUN --mount=type=bind cannot be replayed; COPY the files instead')
    this.context.notes.push(
      type === 'cache'
        ? `${this.at.file}:${this.at.line}: a cache mount is an ordinary directory here, empty at first and kept in the layer`
        : `${this.at.file}:${this.at.line}: a ${type} mount is an ordinary directory here, kept in the layer`,
    )
  }

  /** A single heredoc is the script itself; otherwise the shell gets the heredocs and handles them. */
  private command({ command, heredocs }: RunInstruction): Pick<RunStep, 'argv' | 'script'> {
    const [first] = heredocs
    if (command.form === 'exec' || first === undefined) return { argv: this.argvOf(command), script: null }
    const alone = parseHeredocMark(command.text) !== null && heredocs.length === 1
    if (alone && first.content.startsWith('#!')) {
      const name = first.name.replace(/[^A-Za-z0-9_.-]/g, '_')
      return { argv: [`${scriptsDir}/${name}`], script: { name, content: first.content } }
    }
    if (alone) return { argv: [...this.state.shell, first.content], script: null }
    const text = [command.text, ...heredocs.map(({ raw, name }) => raw + name)].join('\n')
    return { argv: [...this.state.shell, text], script: null }
  }

  private copy(instruction: CopyInstruction): CopyStep {
    const { name, line, unpack } = instruction
    const sources = instruction.sources.map((source) => this.source(source, name))
    const dest = this.destination(this.expand(instruction.dest), sources.length > 1)
    const chown = instruction.chown === null ? null : this.expand(instruction.chown)
    const chmod = instruction.chmod === null ? null : this.expand(instruction.chmod)
    if (chown !== null && !/^[\w.-]+(:[\w.-]+)?$/.test(chown)) {
      throw dockerfileError(this.at, `${name} --chown: expected user or user:group, got ${JSON.stringify(chown)}`)
    }
    if (chmod !== null && !/^([0-7]{1,4}|[ugoa]*[-+=][rwxXst]*(,[ugoa]*[-+=][rwxXst]*)*)$/.test(chmod)) {
      throw dockerfileError(this.at, `${name} --chmod: expected a mode such as 755, got ${JSON.stringify(chmod)}`)
    }
    const from = instruction.from === null ? null : this.fromStage(instruction.from)
    if (from !== null && sources.some((source) => typeof source !== 'string')) {
      throw dockerfileError(this.at, 'COPY --from takes files of a stage, not a heredoc')
    }
    const shown = sources.map((source) => (typeof source === 'string' ? source : `<<${source.name}`)).join(' ')
    return {
      kind: 'copy',
      line,
      name,
      title: oneLine(`${name} ${shown} ${dest}`),
      from,
      sources,
      dest,
      chown,
      chmod,
      unpack,
    }
  }

  private source(source: CopyInstruction['sources'][number], name: string): string | InlineFile {
    if (typeof source !== 'string') {
      const content = source.expand
        ? expandAt(source.content, this.variables(), this.at, { quotes: false })
        : source.content
      if (source.name.includes('/'))
        throw dockerfileError(this.at, `${source.name}: a heredoc's name cannot hold a slash`)
      return { name: source.name, content }
    }
    const path = this.expand(source)
    if (name === 'ADD' && /^((https?|ftp|git|ssh):\/\/|git@)/.test(path)) {
      throw dockerfileError(this.at, `ADD ${path} would need the network; only files of the task can be added`)
    }
    if (path === '' || path.includes('\0')) throw dockerfileError(this.at, `${name}: a source is empty or holds a NUL`)
    return path
  }

  private destination(dest: string, isMany: boolean): string {
    const isDirectory = isMany || dest === '' || /(^|\/)\.{0,2}$/.test(dest)
    const path = this.absolute(dest)
    return isDirectory && path !== '/' ? `${path}/` : path
  }

  private fromStage(from: string): number {
    const found = findStage(this.context.dockerfile, from, this.context.index)
    if (found !== null) return found
    throw dockerfileError(
      this.at,
      `COPY --from=${from}: expected an earlier stage of this file; other images are not available here`,
    )
  }

  private healthcheck(instruction: HealthcheckInstruction): Healthcheck | null {
    const { kind: _, line: __, command, ...timing } = instruction
    if (command === null) return null
    const plain = command.form === 'shell' && this.state.shell === defaultShell
    return { ...timing, command: plain ? command.text : this.argvOf(command).map(shellQuote).join(' ') }
  }
}

/** The index of the earlier stage that `--from` names, or null. */
export function findStage(dockerfile: Dockerfile, from: string, before: number): number | null {
  const index = /^\d+$/.test(from)
    ? Number(from)
    : dockerfile.stages.findIndex(({ name }) => name === from.toLowerCase())
  return index >= 0 && index < before ? index : null
}

function oneLine(text: string): string {
  const flat = text.replace(/\s+/g, ' ').trim()
  return flat.length > 120 ? `${flat.slice(0, 119)}…` : flat
}
