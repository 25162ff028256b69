import { expect, test } from 'vitest'
import { filesOf, readCommands, sessionsOf } from './read-sessions.ts'

const page = `## Lines of a file

The file lists what the kitchen has:

\`\`\`bash
$ cat fruits.txt
pear 3
fig 12
apple 5

# by name
$ sort fruits.txt
apple 5
fig 12
pear 3
$ sort fruits.txt > sorted.txt
\`\`\`

Only the names:

\`\`\`bash
$ printf 'a 1\\nb 2\\n' | cut -d ' ' -f 1
a
b
\`\`\`
`

test('commands after a prompt are read with what they print', () => {
  expect(sessionsOf(page).map(({ command, printed }) => [command, printed])).toEqual([
    ['cat fruits.txt', 'pear 3\nfig 12\napple 5'],
    ['sort fruits.txt', 'apple 5\nfig 12\npear 3'],
    ['sort fruits.txt > sorted.txt', ''],
    ["printf 'a 1\\nb 2\\n' | cut -d ' ' -f 1", 'a\nb'],
  ])
})

test('a command on a file that was shown, or on a text in a pipe, can be asked for; the page no longer shows it', () => {
  const known = filesOf(sessionsOf(page))
  expect(known).toEqual({ 'fruits.txt': 'pear 3\nfig 12\napple 5\n' })
  // `sort fruits.txt` also occurs in another command.
  expect(readCommands(page, known)).toEqual([
    {
      page: page.replace("| cut -d ' ' -f 1", '| (this was lost)'),
      script: "cut -d ' ' -f 1\n",
      files: {},
      stdin: 'a 1\nb 2\n',
      expected: 'a\nb',
    },
  ])
  const once = page.replace('$ sort fruits.txt > sorted.txt\n', '')
  const [sorting] = readCommands(once, known)
  expect(sorting).toMatchObject({
    script: 'sort fruits.txt\n',
    files: known,
    stdin: '',
    expected: 'apple 5\nfig 12\npear 3',
  })
  expect(sorting?.page).toContain('# by name\n$ (this was lost)\napple 5')
  expect(sorting?.page).not.toContain('sort fruits')
  expect(readCommands(once.replace('# by name', '# wrong output'), known).map(({ script }) => script)).not.toContain(
    'sort fruits.txt\n',
  )
})

test('a command is skipped if the page shows another way to its result', () => {
  const known = { 'fruits.txt': 'pear\nfig\n' }
  const lost = (text: string) => readCommands(`Text.\n\n${text}\n`, known).map(({ script }) => script)
  expect(lost('# upside down\n$ tac fruits.txt\nfig\npear')).toEqual(['tac fruits.txt\n'])
  expect(lost('# upside down, same as: tail -r fruits.txt\n$ tac fruits.txt\nfig\npear')).toEqual([])
  expect(lost('$ tac fruits.txt\nfig\npear\n\n$ <fruits.txt tac\nfig\npear')).toEqual([])
  expect(lost('$ tail -n1 fruits.txt\nfig\n\n$ echo fig\nfig')).toEqual(['tail -n1 fruits.txt\n'])
})

test.each([
  ['a file that no page shows', 'sort other.txt\na'],
  ['a program of another kind', 'curl fruits.txt\na'],
  ['no output', 'sort fruits.txt'],
  ['an input that a shell would have to make', 'printf "%s" $x | sort\na'],
  ['an output to a file', 'sort fruits.txt > x\na'],
  ['no input at all', 'sort\na'],
])('%s: the command is left', (_, session) => {
  expect(readCommands(`Text.\n\n$ ${session}\n`, { 'fruits.txt': 'b\na\n' })).toEqual([])
})
