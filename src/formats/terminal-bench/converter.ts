import { chmod, copyFile, mkdir, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { UserError } from '../../core/errors.ts'
import { exists } from '../../lib/files.ts'
import { walkTree } from '../../lib/tree.ts'
import { defaultSettings, type TaskSettings } from '../harbor-task/environment.ts'
import { kindInTask, orUserError, readTaskText } from '../harbor-task/read.ts'
import { writeTask } from '../harbor-task/save.ts'
import { type EnvironmentPlan, planEnvironment } from './compose.ts'
import { renderCommands, renderSolution, testScript, testScriptFor } from './scripts.ts'
import { parseTaskYaml, type TaskYaml } from './task-yaml.ts'

/** Writes one Terminal-Bench task in Harbor's format into a directory, and collects what could not be converted. */
export class Converter {
  constructor(
    readonly source: string,
    readonly target: string,
    readonly warnings: string[],
  ) {}

  async convert(): Promise<void> {
    const file = join(this.source, 'task.yaml')
    const task = parseTaskYaml((await this.#read('task.yaml')) ?? '', file)
    this.#warnAbout(task)
    const plan = await this.#plan()
    await this.#copyEnvironment(plan)
    await this.#copyTests()
    const solution = await this.#solution()
    const script = testScriptFor(task.parserName) ?? testScript
    const files = { 'tests/test.sh': script, ...(solution === null ? {} : { 'solution/solve.sh': solution }) }
    await writeTask(this.target, { settings: toSettings(task, plan), instruction: task.instruction, files })
  }

  #warnAbout(task: TaskYaml): void {
    if (task.runsTestsInAgentShell) {
      this.warnings.push(
        'run_tests_in_same_shell: the tests run in their own shell, without the state of the agent’s shell',
      )
    }
    if (testScriptFor(task.parserName) === null) {
      this.warnings.push(
        `parser_name ${task.parserName}: the reward is the exit code of run-tests.sh, its output is not parsed`,
      )
    }
  }

  async #plan(): Promise<EnvironmentPlan> {
    for (const name of ['docker-compose.yaml', 'docker-compose.yml']) {
      const text = await this.#read(name)
      if (text !== null) return planEnvironment(text, join(this.source, name), basename(this.source))
    }
    return { kind: 'dockerfile', context: '.', dockerfile: 'Dockerfile', extras: { env: {} } }
  }

  async #copyEnvironment(plan: EnvironmentPlan): Promise<void> {
    const environment = join(this.target, 'environment')
    await mkdir(environment)
    const context = plan.kind === 'dockerfile' ? plan.context : '.'
    const dockerfile = await this.#dockerfile(plan)
    const wanted = dockerfile !== null && context === '.' ? copiedByName(dockerfile) : []
    if (wanted.length > 0) this.warnings.push(`the Dockerfile copies ${wanted.join(', ')}: the agent can read it`)
    await this.#copy(context, 'environment', (path) => {
      const top = path.split('/')[0] ?? ''
      return context !== '.' || !isKeptApart(top) || wanted.includes(top)
    })
    if (dockerfile !== null) await writeFile(join(environment, 'Dockerfile'), dockerfile)
    if (plan.kind === 'image') await writeFile(join(environment, 'Dockerfile'), `FROM ${plan.image}\n`)
    if (plan.kind === 'compose') await writeFile(join(environment, 'docker-compose.yaml'), plan.text)
    if (plan.kind === 'compose' && plan.text.includes('T_BENCH_')) {
      this.warnings.push('docker-compose.yaml: nothing sets its remaining T_BENCH_* variables')
    }
  }

  /** The Dockerfile for a single container; null if none is needed. */
  async #dockerfile(plan: EnvironmentPlan): Promise<string | null> {
    if (plan.kind !== 'dockerfile') return plan.kind === 'compose' ? this.#read('Dockerfile') : null
    const path = join(plan.context, plan.dockerfile)
    const text = await this.#read(path)
    if (text !== null) return text
    throw new UserError(
      `${join(this.source, path)}: expected a Dockerfile, found no such file`,
      'an environment comes from a Dockerfile or a docker-compose.yaml',
    )
  }

  async #copyTests(): Promise<void> {
    await mkdir(join(this.target, 'tests'))
    if (await kindInTask(this.source, join(this.source, 'tests'))) await this.#copy('tests', 'tests', () => true)
    if (await exists(join(this.target, 'tests/test.sh'))) {
      throw new UserError(
        `${join(this.source, 'tests/test.sh')}: expected no file of this name, which a Harbor task reserves`,
        'rename it, also in run-tests.sh',
      )
    }
    const runner = await this.#read('run-tests.sh')
    if (runner !== null) return writeFile(join(this.target, 'tests/run-tests.sh'), runner, { mode: 0o755 })
    if (await exists(join(this.target, 'tests/run-tests.sh'))) return
    throw new UserError(
      `${join(this.source, 'run-tests.sh')}: expected the script that runs the tests, found no such file`,
      'write one that exits with 0 when all tests pass, for example: pytest $TEST_DIR -rA',
    )
  }

  async #solution(): Promise<string | null> {
    const script = await this.#read('solution.sh')
    if (script !== null) return renderSolution(script)
    const commands = await this.#read('solution.yaml')
    if (commands === null) return null
    const rendered = renderCommands(commands, join(this.source, 'solution.yaml'))
    if (rendered === null)
      this.warnings.push('solution.yaml presses keys in a program: skipped, because no script can do that')
    return rendered
  }

  #read(path: string): Promise<string | null> {
    return readTaskText(this.source, join(this.source, path))
  }

  /** Copies a folder of the source, keeping modes and links. */
  async #copy(from: string, to: string, isWanted: (path: string) => boolean): Promise<void> {
    const root = join(this.source, from)
    await orUserError(root, () => this.#copyTree(root, to, isWanted))
  }

  async #copyTree(root: string, to: string, isWanted: (path: string) => boolean): Promise<void> {
    for await (const entry of walkTree(root)) {
      if (!isWanted(entry.path)) continue
      const target = join(this.target, to, entry.path)
      if (entry.kind === 'dir') await mkdir(target)
      else if (entry.kind === 'symlink') await symlink(entry.target, target)
      else if (entry.kind === 'file') {
        await copyFile(join(root, entry.path), target)
        await chmod(target, entry.mode & 0o777)
      } else {
        throw new UserError(`${join(root, entry.path)}: expected a file, found a pipe, socket or device`, 'remove it')
      }
    }
  }
}

function toSettings(task: TaskYaml, plan: EnvironmentPlan): TaskSettings {
  const image = plan.kind === 'compose' && plan.image !== undefined ? { dockerImage: plan.image } : {}
  const extras = plan.kind === 'compose' ? image : plan.extras
  return {
    ...defaultSettings,
    metadata: task.metadata,
    agent: { timeoutSec: task.agentTimeoutSec },
    verifier: { ...defaultSettings.verifier, timeoutSec: task.testTimeoutSec },
    environment: { ...defaultSettings.environment, ...extras },
  }
}

/** Files of a Terminal-Bench task that go elsewhere in a Harbor task, or nowhere. */
const apart = new Set(['tests', 'solution.sh', 'solution.yaml', 'run-tests.sh', 'task.yaml'])

/** Which separated files a Dockerfile copies by name, so that it cannot be built without them. */
function copiedByName(dockerfile: string): string[] {
  const instructions = dockerfile.replace(/\\\r?\n/g, ' ').split('\n')
  const tops = instructions.flatMap(sourcesOf).map((path) => path.replace(/^(\.?\/)+/, '').split('/')[0] ?? '')
  return [...new Set(tops)].filter((top) => apart.has(top))
}

/** Whether an entry at the root of a Terminal-Bench task is kept out of its environment. */
function isKeptApart(name: string): boolean {
  return apart.has(name) || /^docker-compose\.ya?ml$/.test(name)
}

function sourcesOf(instruction: string): string[] {
  const [, rest = ''] = /^\s*(?:COPY|ADD)\s+(.*)$/i.exec(instruction) ?? []
  if (/--from=/.test(rest)) return []
  const words = rest.trim().startsWith('[')
    ? [...rest.matchAll(/"([^"]*)"/g)].map((match) => match[1] ?? '')
    : rest.trim().split(/\s+/)
  return words.filter((word) => word !== '' && !word.startsWith('--')).slice(0, -1)
}
