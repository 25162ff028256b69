import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseTemplate } from '../../core/env-template.ts'
import { sandboxPaths, solutionDir, solveScript, taskFileName } from '../../core/task-paths.ts'
import { parseTaskToml } from '../../formats/harbor-task/parse.ts'
import { readTaskText } from '../../formats/harbor-task/read.ts'
import { isMissing } from '../../lib/files.ts'
import { shellQuote } from '../../lib/shell.ts'
import { walkTree } from '../../lib/tree.ts'
import type { ScriptedOptions } from './options.ts'
import type { KnownTask } from './task-index.ts'
import { type Command, type WorkTurn, work } from './turn.ts'

/** How a solution is presented. */
export type Style = Pick<ScriptedOptions, 'turns' | 'wordy'>

/** A solution file that is written into a sandbox by typing. */
export interface SolutionFile {
  readonly path: string
  readonly bytes: Uint8Array
}

/** Typed text is cut into commands of at most this many characters. */
const maxTypedChars = 6000
const maxSolutionBytes = 1024 * 1024
const ended = 'solution ended with'

/**
 * Turns a task's own solution into terminal work: look around, write its files, run it, wait for it to end. Null when
 * there is none.
 */
export async function loadSolutionTurns(task: KnownTask, style: Style): Promise<readonly WorkTurn[] | null> {
  const files = await readSolution(solutionDir(task.dir))
  if (!files.some(({ path }) => path === solveScript('linux'))) return null
  const toml = await readTaskText(task.taskDir, join(task.taskDir, taskFileName))
  const { env } = parseTaskToml(toml ?? '', taskFileName).solution
  return inStyle(solutionTurns(files, env), style)
}

async function readSolution(dir: string): Promise<SolutionFile[]> {
  const files: SolutionFile[] = []
  let bytes = 0
  try {
    for await (const { path, kind, size } of walkTree(dir)) {
      if (kind !== 'file') continue
      bytes += size
      if (bytes > maxSolutionBytes) return []
      files.push({ path, bytes: await readFile(join(dir, path)) })
    }
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
  return files
}

export function solutionTurns(
  files: readonly SolutionFile[],
  env: Readonly<Record<string, string>>,
): readonly WorkTurn[] {
  const dir = files.some(({ bytes }) => Buffer.from(bytes).includes(sandboxPaths.solution))
    ? sandboxPaths.solution
    : '/tmp/solution'
  const writing = files.flatMap(({ path, bytes }) => typeFile(`${dir}/${path}`, bytes))
  // Values that a template takes from the host are secret and must not appear in a conversation.
  const exports = Object.entries(env)
    .filter(([, value]) => parseTemplate(value) === null)
    .map(([name, value]) => `${name}=${shellQuote(value)}`)
  const script = `${dir}/${solveScript('linux')}`
  const run = ['env', 'DEBIAN_FRONTEND=noninteractive', ...exports, script].join(' ')
  return [
    work({
      analysis: 'The task is clear. A look at the place comes first.',
      plan: 'List the working directory, then write down a script and run it.',
      commands: [{ keystrokes: 'pwd; ls -la\n', durationSec: 0.5 }],
    }),
    work({
      analysis: 'The work fits into a script.',
      plan: `Write it to ${dir}.`,
      // Old shells interpret an exclamation mark as history expansion.
      commands: [
        { keystrokes: 'shopt -uo histexpand 2>/dev/null\n', durationSec: 0.5 },
        ...writing,
        { keystrokes: `chmod +x ${script}; ls -la ${dir}\n`, durationSec: 0.5 },
      ],
    }),
    work({
      analysis: 'The script is in place.',
      plan: 'Run it and look at how it ends.',
      commands: [{ keystrokes: `${run}; echo "${ended} $?"\n`, durationSec: 60 }],
      until: new RegExp(`${ended} \\d+`),
    }),
  ]
}

export function inStyle(turns: readonly WorkTurn[], { turns: wanted, wordy }: Style): readonly WorkTurn[] {
  const told = inTurns(turns, wanted)
  return wordy ? told.map(describeCommands) : told
}

function inTurns(turns: readonly WorkTurn[], wanted: Style['turns']): readonly WorkTurn[] {
  if (wanted === 'few') return turns
  if (wanted === 'many') {
    return turns.flatMap((turn) =>
      turn.commands.map((command, i) =>
        work({ ...turn, commands: [command], until: i === turn.commands.length - 1 ? turn.until : null }),
      ),
    )
  }
  const { analysis = '', until = null } = turns.at(-1) ?? {}
  const commands = turns.flatMap((turn) => turn.commands)
  return [work({ analysis: turns[0]?.analysis ?? analysis, plan: 'Write a script and run it.', commands, until })]
}

/** Announces in words what is typed next, as talkative models do. */
function describeCommands(turn: WorkTurn): WorkTurn {
  const steps = turn.commands.map(({ keystrokes, durationSec }, i) => {
    const [first = ''] = keystrokes.split('\n')
    return `Step ${i + 1}: I type \`${first}\` and give it ${durationSec} s to finish, then I read what the terminal shows.`
  })
  const analysis = `${turn.analysis} Before I type anything, I go through the state of the terminal and the request once more.`
  return { ...turn, analysis, plan: [turn.plan, ...steps].join(' ') }
}

/** Commands that write a file: literally if a terminal takes every character as it is, otherwise in base64. */
function typeFile(path: string, bytes: Uint8Array): Command[] {
  const target = shellQuote(path)
  const make = `mkdir -p ${shellQuote(path.slice(0, path.lastIndexOf('/')))}\n`
  const text = new TextDecoder().decode(bytes)
  const isPlain = /^[\n\x20-\x7e]*$/.test(text) && text.endsWith('\n') && !text.includes('END_OF_FILE')
  const body = isPlain ? text : Buffer.from(bytes).toString('base64').replaceAll(/.{76}/g, '$&\n')
  const into = isPlain ? 'cat' : 'base64 -d'
  const commands = chunksOf(body).map((chunk, i) => {
    const lines = chunk.endsWith('\n') ? chunk : `${chunk}\n`
    return {
      keystrokes: `${into} ${i === 0 ? '>' : '>>'} ${target} <<'END_OF_FILE'\n${lines}END_OF_FILE\n`,
      durationSec: 0.5,
    }
  })
  return [{ keystrokes: make, durationSec: 0.5 }, ...commands]
}

/** Splits a text into parts of whole lines; base64 lines of 76 characters can be decoded separately. */
function chunksOf(text: string): string[] {
  const chunks = ['']
  for (const line of text.split(/(?<=\n)/)) {
    const last = chunks.at(-1) ?? ''
    if (last !== '' && last.length + line.length > maxTypedChars) chunks.push(line)
    else chunks[chunks.length - 1] = last + line
  }
  return chunks
}
