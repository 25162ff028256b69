import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { commands } from '../src/cli/commands.ts'
import { renderCompletion, shells } from '../src/cli/completion/scripts.ts'
import { type CompletedCommand, completionTree } from '../src/cli/completion/tree.ts'
import { needs } from './needs.ts'

const dir = mkdtempSync(join(tmpdir(), 'completion-'))
const fileOf = (shell: string) => join(dir, `${shell}.script`)
let tree: CompletedCommand[]
beforeAll(async () => {
  tree = await completionTree(commands)
  for (const shell of shells) writeFileSync(fileOf(shell), renderCompletion(shell, tree))
})

/** A line up to the cursor, and words that must and must not be among the completions. */
const cases: [line: string, offered: string[], not: string[]][] = [
  ['ot-agent jo', ['jobs'], ['run']],
  ['ot-agent jobs ', ['list', 'show', 'resume'], ['run']],
  ['ot-agent jobs sh', ['show'], ['list']],
  ['ot-agent launch cluster ', ['check', 'init'], ['status']],
  ['ot-agent run --n-at', ['--n-attempts'], ['--n-concurrent']],
  ['ot-agent run -a oracle --reward-precedence ', ['txt', 'json'], ['--help']],
  ['ot-agent completion ', ['bash', 'zsh', 'fish'], ['jobs']],
]

test('the tree has every command, and hides hidden options', () => {
  const run = tree.find(({ words }) => words.join(' ') === 'run')
  expect(run?.options.flatMap(({ flags }) => flags)).toEqual(expect.arrayContaining(['-p', '--path', '--n-attempts']))
  expect(run?.options.flatMap(({ flags }) => flags)).not.toContain('--mounts-json')
  expect(tree.map(({ words }) => words.join(' '))).toEqual(expect.arrayContaining(['', 'jobs', 'jobs show', 'launch']))
})

test.each(cases)('bash: %s', needs('bash'), (line, offered, not) => {
  const words = line.split(' ')
  const script = `. "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _ot_agent; printf '%s\\n' "\${COMPREPLY[@]}"`
  const got = execFileSync('bash', ['-c', script, 'bash', fileOf('bash'), ...words], { encoding: 'utf8' }).split('\n')
  expect(got).toEqual(expect.arrayContaining(offered))
  expect(got.filter((word) => not.includes(word))).toEqual([])
})

test.each(cases)('fish: %s', needs('fish'), (line, offered, not) => {
  const script = 'source $argv[1]; complete -C $argv[2]'
  const out = execFileSync('fish', ['--no-config', '-c', script, fileOf('fish'), line], {
    encoding: 'utf8',
    env: { ...process.env, HOME: dir },
  })
  const got = out.split('\n').map((row) => row.split('\t')[0])
  expect(got).toEqual(expect.arrayContaining(offered))
  expect(got.filter((word) => not.includes(word ?? ''))).toEqual([])
})

test.each(cases)('zsh: %s', needs('zsh'), (line, offered, not) => {
  // A real zsh in a terminal, where the line is typed and Tab is pressed; every completion is written to a file.
  const [list, setup] = [join(dir, 'offered'), join(dir, 'setup.zsh')]
  const keep =
    'compadd() { builtin compadd "$@"; local -a all; builtin compadd -O all "$@"; print -rl -- $all >> $OFFERED }'
  writeFileSync(list, '')
  // A key pressed after Tab is handled only when Tab is done, which shows that all completions are there.
  const mark = "told-all() { print -r -- '=all=' >> $OFFERED }; zle -N told-all; bindkey '^T' told-all"
  writeFileSync(setup, `autoload -Uz compinit; compinit -u -D; . ${fileOf('zsh')}; ${keep}; ${mark}; print ready\n`)
  const drive = [
    'zmodload zsh/zpty',
    'zpty shell zsh -f -i',
    'zpty -w shell ". $1"; zpty -r -m shell seen "*ready*"',
    `zpty -w -n shell "$2"$'\t\x14'; until [[ "$(<$OFFERED)" == *=all=* ]]; do sleep 0.05; done`,
    'zpty -d shell',
  ].join('\n')
  const env = { ...process.env, HOME: dir, OFFERED: list, TERM: 'xterm' }
  expect(spawnSync('zsh', ['-f', '-c', drive, 'zsh', setup, line], { env, timeout: 600_000 }).status).toBe(0)
  const got = readFileSync(list, 'utf8').split('\n')
  expect(got).toEqual(expect.arrayContaining(offered))
  expect(got.filter((word) => not.includes(word))).toEqual([])
})

test.each(shells)(
  '--install writes the script of %s where the shell looks for it, and prints that place',
  async (shell) => {
    const home = mkdtempSync(join(tmpdir(), 'home-'))
    const env = { ...process.env, HOME: home, XDG_DATA_HOME: '', XDG_CONFIG_HOME: '' }
    const { status, stdout } = spawnSync(process.execPath, ['bin/ot-agent.js', 'completion', shell, '--install'], {
      env,
      encoding: 'utf8',
    })
    expect(status).toBe(0)
    expect(stdout.startsWith(home)).toBe(true)
    expect(readFileSync(stdout.trim(), 'utf8')).toBe(readFileSync(fileOf(shell), 'utf8'))
  },
)
