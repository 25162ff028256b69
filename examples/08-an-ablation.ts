// Compares three teachers from a program of ten lines.
// npm run example examples/08-an-ablation.ts [OUT_DIR]
import { planAblation, reportAblation, runAblation } from 'ot-agent'

const file = 'ablations/example.yaml'
const place = { out: process.argv[2] ?? 'runs/teachers' }
const { cells, total } = await planAblation(file, place)
console.error(cells, 'cells,', total.rollouts, 'rollouts')

const run = runAblation(file, place)
for await (const event of run) if (event.kind === 'cell') console.error(event.state.cell.variant, event.state.state)
await run

const { rows } = await reportAblation(file, place)
for (const { variant, score, comparison } of rows) console.log(variant, score?.mean, comparison?.verdict ?? 'baseline')
