// A recipe names your own stages by their path. 09-make-and-roll-out.ts has a maker and a rollout.
// npx ot-agent recipe run examples/05-your-own-stages.ts -o runs/proverbs
import { defineRecipe } from 'ot-agent'

export default defineRecipe({
  name: 'proverbs',
  stages: [
    { use: './stages/lines.ts', with: { path: 'stages/proverbs.txt' } },
    { use: './stages/count-words.ts' },
    { use: './stages/short.ts', with: { most: 12 } },
    { use: './stages/no-questions.ts' },
    { use: './stages/one-each.ts' },
    { use: './stages/longest-first.ts', with: { total: 3 } },
    { use: './stages/text-file.ts' },
  ],
})
