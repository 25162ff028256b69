import { shellQuote } from '../../../lib/shell.ts'

/** What a program must contain to print a text, its input, or the output of a command. */
interface Language {
  readonly print: (text: string) => string
  /** Prints the file of this name if it exists where the program runs, otherwise standard input. */
  readonly copy: (name: string) => string
  readonly command: (command: string) => string
}

const c: Language = {
  print: (text) => `#include <stdio.h>\nint main(void) { puts(${JSON.stringify(text)}); return 0; }`,
  copy: (name) =>
    `#include <stdio.h>\nint main(void) { int c; FILE *in = fopen(${JSON.stringify(name)}, "r"); if (!in) in = stdin; while ((c = getc(in)) != EOF) putchar(c); return 0; }`,
  command: (command) =>
    `#include <stdlib.h>\nint main(void) { return system(${JSON.stringify(command)}) == 0 ? 0 : 1; }`,
}

const languages: Readonly<Record<string, Language>> = {
  py: {
    print: (text) => `print(${JSON.stringify(text)})`,
    copy: (name) =>
      `import os, sys\nname = ${JSON.stringify(name)}\nsys.stdout.write((open(name) if os.path.isfile(name) else sys.stdin).read())`,
    command: (command) => `import os\nos.system(${JSON.stringify(command)})`,
  },
  sh: {
    print: (text) => `#!/bin/bash\nprintf '%s\\n' ${shellQuote(text)}`,
    copy: (name) => `#!/bin/bash\nif [ -f ${shellQuote(name)} ]; then cat ${shellQuote(name)}; else cat; fi`,
    command: (command) => `#!/bin/bash\n${command}`,
  },
  js: {
    print: (text) => `console.log(${JSON.stringify(text)})`,
    copy: (name) =>
      `const fs = require('fs')\nconst name = ${JSON.stringify(name)}\nprocess.stdout.write(fs.readFileSync(fs.existsSync(name) ? name : 0))`,
    command: (command) => `process.stdout.write(require('child_process').execSync(${JSON.stringify(command)}))`,
  },
  c,
  cpp: c,
  cc: c,
  sql: {
    print: (text) => `SELECT ${/^\d+$/.test(text) ? text : text === '' ? 'NULL' : `'${text.replaceAll("'", "''")}'`};`,
    copy: () => 'SELECT NULL WHERE 0;',
    command: () => 'SELECT name FROM sqlite_master;',
  },
}

/** The language of a program file, by its extension; null for all other files. */
export function languageOf(target: string): Language | null {
  const ending = /\.(\w+)$/.exec(target)?.[1] ?? ''
  return Object.hasOwn(languages, ending) ? (languages[ending] ?? null) : null
}

/** Bash that writes a program. */
export function writeProgram(target: string, program: string): string {
  const path = shellQuote(target)
  const write = `printf '%s\\n' ${shellQuote(program)} > ${path}`
  return target.endsWith('.sh') ? `${write} && chmod +x ${path}` : write
}

const mostTables = 4

/** Queries that look at tables but not at the question. The tables are those the instruction shows how to create. */
export function shallowQueries(instruction: string): string[] {
  const made = [...instruction.matchAll(/\bCREATE TABLE (?:IF NOT EXISTS )?["'`[]?(\w+)/gi)].map(
    ([, name = '']) => name,
  )
  const tables = [...new Set(made)].slice(0, mostTables)
  const joined = tables.length > 1 ? [`SELECT * FROM ${tables.map(quoted).join(' NATURAL JOIN ')};`] : []
  return [
    ...tables.map((table) => `SELECT * FROM ${quoted(table)};`),
    ...joined,
    ...tables.map((table) => `SELECT DISTINCT * FROM ${quoted(table)};`),
    ...tables.map((table) => `SELECT COUNT(*) FROM ${quoted(table)};`),
  ]
}

const quoted = (name: string) => `"${name}"`

/** Functions that a new Python file must define, according to the wording of the instruction: "that defines `f(x)`". */
export function functionsToDefine(instruction: string): string[] {
  const found = [
    ...instruction.matchAll(/\bdefin(?:es?|ing) (?:(?:a|the) )?(?:function )?`(?:def )?(\w+)\([^`]*\)[^`]*`/g),
  ]
  return [...new Set(found.map(([, name = '']) => name))]
}
