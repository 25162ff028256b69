// Leaves the tasks of a folder that reworded.json has, and with `reworded` gives each the instruction from there:
//
//   node studies/reword.mjs TASKS as-made|reworded
//
// A language model wrote these instructions. Each asks for the same as the composer's, in other words; names, paths and numbers are the same.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [tasks, which] = process.argv.slice(2)
const reworded = JSON.parse(readFileSync(join(import.meta.dirname, 'reworded.json'), 'utf8'))
for (const name of readdirSync(tasks))
  if (!Object.hasOwn(reworded, name)) rmSync(join(tasks, name), { recursive: true })
  else if (which === 'reworded') writeFileSync(join(tasks, name, 'instruction.md'), reworded[name])
