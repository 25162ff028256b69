import { expect, test } from 'vitest'
import { attemptsOf, likeness } from './attempts.ts'
import { askFor } from './by-program.ts'
import { commandIn, commandOf, orderOf } from './commands.ts'
import { asksToExplain, type Question } from './question.ts'

const block = (before: string, text: string) => ({ before, text, language: null })
const answer = (code: string[], body = '') => ({
  ...{ score: 3, accepted: true, isOwn: false, comments: 0, body },
  code: code.map((text) => block('', text)),
})
function question(code: Question['code'], ...answers: ReturnType<typeof answer>[]): Question {
  const [best = answer([]), ...otherAnswers] = answers
  return { title: 'Join two lists', day: null, body: '', code, answer: best, otherAnswers }
}
const filesOf = (asked: Question) => {
  const attempts = attemptsOf(asked)
  return typeof attempts === 'string' ? attempts : attempts.map(({ files }) => files)
}

test('each file of a command is the text that the question introduces by its name', () => {
  const shown = [block('First, prices.txt:', 'b 2'), block('and names.txt', 'b bread')]
  expect(filesOf(question(shown, answer(['join names.txt prices.txt'])))).toEqual([
    { 'names.txt': 'b bread\n', 'prices.txt': 'b 2\n' },
  ])
})

test.each([
  ['file 1', { file1: 'x\n', file2: 'y\n' }],
  ['so I get profile1', { file1: 'y\n', file2: 'x\n' }],
])('a name counts as a whole, however it is written: %s', (before, files) => {
  const shown = [block('file2:', 'y'), block(before, 'x')]
  expect(filesOf(question(shown, answer(['paste file1 file2'])))).toEqual([files])
})

test('a file that nothing names may be any of the texts; several are taken in order', () => {
  const shown = [block('I have this:', 'a'), block('I tried', 'sort file'), block('I want', 'b')]
  expect(filesOf(question(shown, answer(['sort Input_file'])))).toEqual([{ Input_file: 'a\n' }, { Input_file: 'b\n' }])
  expect(filesOf(question(shown, answer(['paste file1 file2'])))).toEqual([{ file1: 'a\n', file2: 'b\n' }])
})

test('commands in sentences and scripts of Python are tried too, and what would go into a file is printed', () => {
  const shown = [block('', 'a')]
  const said = answer(['with open("in.txt") as f:\n    print(f.read())'], 'Try `paste - - < data.txt > out.txt` first.')
  expect(attemptsOf(question(shown, said))).toEqual([
    { script: 'paste - - < data.txt', interpreter: 'bash', files: { 'data.txt': 'a\n' } },
    { script: expect.stringContaining('open("in.txt")'), interpreter: 'python3', files: { 'in.txt': 'a\n' } },
  ])
})

test.each([
  ['no command of the usual programs', [block('', 'a')], 'make install'],
  ['no input', [block('', 'sort x.txt')], 'sort x.txt'],
  ['names no file', [block('', 'a')], 'sort "$list"'],
  ['names no file', [block('', 'a')], 'cat Dockerfile'],
])('what cannot be tried is left out: %s', (problem, shown, command) => {
  expect(attemptsOf(question(shown, answer([command])))).toContain(problem)
})

test('no file of a task has a name with a special meaning next to its Dockerfile', () => {
  expect(commandOf(question([], answer(['sort docker-compose.yaml'])))).toContain('names no file')
  expect(commandOf(question([], answer(['sort a.txt'])))).toMatchObject({ file: 'a.txt' })
})

test('a command after a prompt continues while a quote is open', () => {
  expect(commandIn("$ awk '{\n    print $1  # one\n}' file\na\n$ sort file\nb")).toBe(
    "awk '{\n    print $1  # one\n}' file\nsort file",
  )
})

test('trailing blanks mean nothing, and differences between words are detected', () => {
  expect(likeness('a b  \nc\n\n', 'a b\nc\n')).toBe('same')
  expect(likeness('a  b\n c', 'a b\nc')).toBe('blanks')
  expect(likeness('a b', 'b a')).toBeNull()
})

test('the order of lines that awk reads from an array is ignored, unless they are sorted', () => {
  expect(orderOf({ script: "awk '{n[$1]++} END {for (k in n) print k, n[k]}' file" })).toEqual({ order: 'any' })
  expect(orderOf({ script: "awk '{n[$1]++} END {for (k in n) print k}' file | sort" })).toEqual({})
})

test.each([
  ['Are loops really bad? When should I care?', true],
  ['What is the difference between cut and awk?', true],
  ['Is there a way to join two files?', false],
  ['What is the best way to sort a list?', false],
  ['How to join two files?', false],
])('questions that ask to explain are told from those that ask for code: %s', (title, explains) => {
  expect(asksToExplain(title)).toBe(explains)
})

test('the number of blanks counts only where words are not in columns', () => {
  expect(askFor('a 1\nb 2').normalise).toBeUndefined()
  expect(askFor('- a b')).toMatchObject({ instruction: expect.not.stringContaining('blanks') })
  expect(askFor('chr1    11\nchr2    7').normalise).toEqual(['blanks'])
  expect(askFor('a\tb')).toMatchObject({ instruction: expect.stringContaining('does not matter') })
})
