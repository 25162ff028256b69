// Runs a recipe from a program of ten lines.
// npm run example examples/06-run-a-recipe.ts [OUT_DIR]
import { runRecipe } from 'ot-agent'

const run = runRecipe('examples/04-a-recipe.ts', { out: process.argv[2] ?? 'runs/example' })
for await (const event of run) if (event.kind === 'step-end') console.error(event.step, event.rows)

const { stages, sinks } = await run
for (const { id, taken, given } of stages) console.log(id, taken, '->', given)
for (const { dir, counts } of sinks) console.log(dir, JSON.stringify(counts))
