// Keeps the tasks of a folder that are in reworded.json; with `reworded`, replaces each instruction by the one there:
//
//   node studies/reword.mjs TASKS as-made|reworded
//
// A language model wrote these instructions. Each asks for the same thing as the composer's, with the same names, paths and numbers.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [tasks, which] = process.argv.slice(2)
const reworded = JSON.parse(readFileSync(join(import.meta.dirname, 'reworded.json'), 'utf8'))
for (const name of readdirSync(tasks))
  if (!Object.hasOwn(reworded, name)) rmSync(join(tasks, name), { recursive: true })
  else if (which === 'reworded') writeFileSync(join(tasks, name, 'instruction.md'), reworded[name])
