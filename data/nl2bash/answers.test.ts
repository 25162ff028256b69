import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AnswerKind, testScript } from './answers.ts'

let dir = ''
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'ot-agent-nl2bash-'))
  for (const path of ['app/workspace/src', 'tests/workspace/src', 'logs/verifier'])
    await mkdir(join(dir, path), { recursive: true })
  for (const side of ['app', 'tests'])
    for (const name of ['a.c', 'b.c', 'c.h'])
      await writeFile(join(dir, side, 'workspace/src', name), `int ${name.charAt(0)};\n`)
  await writeFile(join(dir, 'tests/make.sh'), ':\n')
})
afterAll(() => rm(dir, { recursive: true, force: true }))

/** The reward for an answer, with the sandbox's folders inside a test folder. */
async function reward(kind: AnswerKind, command: string, output: string): Promise<string> {
  await writeFile(join(dir, 'tests/command.sh'), `${command}\n`)
  await writeFile(join(dir, 'app/output.txt'), output)
  const script = testScript(kind, ['src']).replace(/(?<![\w.])\/(app|tests|logs)\//g, `${dir}/$1/`)
  await promisify(execFile)('bash', ['-c', script])
  return (await readFile(join(dir, 'logs/verifier/reward.txt'), 'utf8')).trim()
}

test('the right paths are accepted in any order, with or without a leading ./, and no others', async () => {
  const find = "find src -name '*.c'"
  const outputs = ['src/b.c\nsrc/a.c\n', './src/a.c\r\n./src/b.c\n', `${dir}/app/workspace/src/a.c\nsrc/b.c\nsrc\n`]
  for (const output of outputs) expect(await reward('paths', find, output), output).toBe('1')
  for (const output of ['', 'src/a.c\n', 'src/a.c\nsrc/b.c\nsrc/c.h\n', 'a.c\nb.c\n'])
    expect(await reward('paths', find, output), output).toBe('0')
})

test('a number is accepted, and matching lines with or without their file names', async () => {
  expect(await reward('number', 'ls src | wc -l', '3\n')).toBe('1')
  expect(await reward('number', 'ls src | wc -l', '4\n')).toBe('0')
  const grep = 'grep -rn "int [ab]" src'
  expect(await reward('found-lines', grep, 'int b;\nint a;\n')).toBe('1')
  expect(await reward('found-lines', grep, './src/a.c:1:int a;\nsrc/b.c:int b;\n')).toBe('1')
  expect(await reward('found-lines', grep, 'int a;\n')).toBe('0')
})

test('an empty answer is never accepted, nor an unchanged folder', async () => {
  expect(await reward('paths', "find src -name '*.py'", '')).toBe('0')
  expect(await reward('state', "find src -name '*.py' -delete", '')).toBe('0')
  expect(await reward('state', 'rm src/c.h', '')).toBe('0')
  await rm(join(dir, 'app/workspace/src/c.h'))
  expect(await reward('state', 'rm src/c.h', '')).toBe('1')
})
