import type { DraftFile, Random } from 'ot-agent'

/** Folders and files a command can be asked about, the same for the same choices. */
export function workspaceFiles(random: Random): Readonly<Record<string, DraftFile>> {
  const people = random.sample(['ada', 'grace', 'linus', 'margaret', 'dennis', 'barbara', 'ken', 'radia'], 5)
  const levels = ['INFO', 'WARN', 'ERROR']
  const log = Array.from({ length: 30 + random.below(20) }, (_, i) => {
    const who = random.pick(people)
    return `${String(i + 1).padStart(3, '0')} ${random.pick(levels)} ${who} request took ${random.below(900)} ms`
  })
  const table = people.map(
    (name, i) => `${i + 1},${name},${random.below(60) + 20},${random.pick(['red', 'blue', 'green'])}`,
  )
  const notes = Array.from({ length: 8 }, () =>
    random.pick(['todo: call back', 'done: tests', 'TODO: write docs', 'an idea', '']),
  )
  return files({
    'logs/app.log': log.join('\n'),
    'logs/old/app.log.1': log.slice(0, 10).reverse().join('\n'),
    'people.csv': ['id,name,age,colour', ...table].join('\n'),
    'notes.txt': notes.join('\n'),
    'src/main.py': `import sys\n\n\ndef main():\n    print("hello", sys.argv)\n\n\nmain()`,
    'src/util.py': `def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b`,
    'src/style.css': 'body { color: red; }\np { color: blue; }',
    'docs/readme.md': `# Workspace\n\nOf ${people.join(', ')}.\n\n- one\n- two`,
    'docs/empty.txt': '',
    'words.txt': random.shuffle(['pear', 'apple', 'fig', 'apple', 'plum', 'fig', 'apple', 'kiwi']).join('\n'),
  })
}

function files(texts: Readonly<Record<string, string>>): Readonly<Record<string, DraftFile>> {
  return Object.fromEntries(
    Object.entries(texts).map(([path, text]) => [path, { data: text === '' ? '' : `${text}\n` }]),
  )
}
