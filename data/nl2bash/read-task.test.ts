import { makeRandom } from 'ot-agent'
import { expect, test } from 'vitest'
import { readTask } from './read-task.ts'

const read = (nl: string, bash: string) => readTask(nl, bash, 3, makeRandom(7, 'nl2bash'))

function task(nl: string, bash: string) {
  const made = read(nl, bash)
  if ('drop' in made) throw new Error(`${made.drop}: ${made.detail}`)
  return { ...made, paths: Object.keys(made.workspace.files) }
}

const reason = (nl: string, bash: string) => {
  const made = read(nl, bash)
  return 'drop' in made ? made.drop : null
}

test('the folder holds matches and near misses', () => {
  const { command, paths, answer } = task('Find all *.conf files under /etc/app', "find /etc/app -name '*.conf'")
  expect({ command, answer }).toEqual({
    command: "find etc/app -name '*.conf'",
    answer: { kind: 'paths', roots: ['etc/app'] },
  })
  expect(paths.filter((path) => /^etc\/app\/.*\.conf$/.test(path)).length).toBeGreaterThan(1)
  expect(paths.filter((path) => /\.conf\.(?:bak|orig)$/.test(path)).length).toBeGreaterThan(0)
})

test('two requests do not share a folder', () => {
  const names = [1, 2].map((seed) => {
    const made = readTask('Find all empty files under src', 'find src -type f -empty', 3, makeRandom(seed, 'nl2bash'))
    return 'drop' in made ? [] : Object.keys(made.workspace.files)
  })
  expect(names[0]).not.toEqual(names[1])
})

test('nothing deep is found where the request does not say how deep to look', () => {
  const hits = (nl: string) =>
    task(nl, 'find . -type f -size +20k').workspace.commands.filter((line) => line.includes('truncate'))
  const isDeep = (line: string) =>
    /truncate .*'[^']*\/[^']*'$/.test(line) && Number(/-s (\d+)/.exec(line)?.[1]) > 20_480
  expect(hits('Find files bigger than 20k in the current folder').filter(isDeep)).toEqual([])
  expect(hits('Find files bigger than 20k in the current directory tree').filter(isDeep)).not.toEqual([])
})

test('a level too deep is one under every reading', () => {
  const { paths } = task('Find all *.c files in maximum 2 levels down src', "find src -maxdepth 2 -name '*.c'")
  const depths = paths.filter((path) => path.endsWith('.c')).map((path) => path.split('/').length - 1)
  expect({ hit: depths.some((depth) => depth <= 2), miss: depths.some((depth) => depth > 3) }).toEqual({
    hit: true,
    miss: true,
  })
  expect(depths).not.toContain(3)
})

test('an excluded name says nothing about folders, so a sentence does', () => {
  const { notes } = task('Find all files not ending in ".log" in src', "find src -type f -not -name '*.log'")
  expect(notes).toEqual([expect.stringContaining('regular files')])
  expect(task('Find all files ending in ".log" in src', "find src -type f -name '*.log'").notes).toEqual([])
})

test('a sentence settles what the request leaves open', () => {
  const files = task('Find all files bigger than 20k in the current directory tree', 'find . -size +20k')
  expect(files).toMatchObject({
    command: 'find . -type f -size +20k',
    notes: [expect.stringContaining('regular files')],
  })
  const text = task('delete all the text files in the current folder', "find . -name '*.txt' -delete")
  expect(text).toMatchObject({ answer: { kind: 'state' }, notes: ['Text files are those whose names end in `.txt`.'] })
})

test('dates are far from the limit, whenever the task runs', () => {
  const { workspace, notes } = task('Find files older than 30 days under logs', 'find logs -type f -mtime +30')
  expect(workspace.commands.join('\n')).toMatch(/touch -h -d '20(?:09|61)-/)
  expect(notes).toEqual([expect.stringContaining('last modification'), expect.stringContaining('regular files')])
})

test.each([
  ['Find all files modified in the last 30 days', 'find . -type f -mtime +30'],
  ['Find all *.php files under current directory', "find . -name '*.html'"],
  ['Find all directories under src', 'find src -type f -name "*.c"'],
  ['Find all files larger than 10MB under src', 'find src -type f -size -10M'],
  ['Find all files that do not end in .c under src', "find src -type f -name '*.c'"],
  ['Find all regular files under src', 'find . src -type f -size +10k'],
  [
    'Remove all files under src that do not end in "a" or "b"',
    "find src -type f ! -name '*a' -o ! -name '*b' | xargs rm",
  ],
  ['Find all regular files in minimum 1 level down the src directory', 'find src -mindepth 1 -type f'],
  ['Find all directories in maximum 1 level down src', 'find src -mindepth 1 -type d'],
  ['Display all files in src and do not search in sub directories', 'find src -maxdepth 0 -type f'],
  ['Find all regular files with ".r" and ".c" in their names', "find . -type f '(' -name '*.r*' -o -name '*.c*' ')'"],
  ['Search src for logs larger than 10 megabytes', 'find src -size +10M'],
  ['Find all jpg files in the current folder', "find . -name '*.JPG'"],
  ['Find all files ending with "js.gz" in the current folder', "find js -name '*.js.gz'"],
  ['Find *.c files two levels below src', "find src -maxdepth 3 -mindepth 3 -name '*.c' -newer x"],
])('words and command that differ make no task: %s', (nl, bash) => {
  expect(reason(nl, bash)).toBe('words-and-command-differ')
})

test.each([
  ['Find all files/directories under the parent directory', "find .. -name '*.c'", 'leaves-the-folder'],
  ['Print the date of today, as it is now', 'date +%F | cat', 'other-program'],
  ['Find *.c files and run make for each', "find . -name '*.c' -exec make {} ';'", 'other-answer'],
  ['Count the directories under src non-recursively', 'find src -maxdepth 1 -type d | wc -l', 'other-answer'],
  ['Delete all .pyc files in the directory tree src', "find src -name '*.pyc' | xargs -0 rm", 'other-answer'],
  ['Save all *.c files to the variable X', "X=$(find . -name '*.c')", 'more-than-a-pipe'],
])('what cannot be asked for is left out: %s', (nl, bash, drop) => {
  expect(reason(nl, bash)).toBe(drop)
})

test('a typographic dash becomes a keyboard dash', () => {
  expect(task('Find all “*.c” files under src', 'find src –name “*.c”').command).toBe("find src -name '*.c'")
})

test('variables and homes become folders', () => {
  const { request, command } = task('Find all *.c files in directory $DIR', 'find "$DIR" -name "*.c"')
  const [, folder = ''] = /^find (\w+) -name '\*\.c'$/.exec(command) ?? []
  expect(request).toBe(`Find all *.c files in directory ${folder}.`)
  expect(task('Find all *.c files in the home directory', "find ~ -name '*.c'").request).toContain('directory home')
})

test('a request that names its own answer is left out', () => {
  expect(reason('Search for the file test.txt in the folder home', 'find home -name test.txt')).toBe('too-simple')
  expect(reason('Search for the file test.txt under the folder home', 'find home -name test.txt')).toBeNull()
  expect(reason('Search for files test*.txt in the folder home', "find home -name 'test*.txt'")).toBeNull()
})
