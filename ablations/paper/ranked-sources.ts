import type { Recipe } from 'ot-agent'
import four from './four-sources.ts'

/** Ranks that the paper is not known for here: tasks of your own, a folder each. */
const rank = (place: number) => ({
  id: `rank-${place}`,
  use: 'sources/task-folder',
  with: { path: `ranked/${place}`, source: `rank-${place}` },
})

const more = [
  rank(5),
  {
    id: 'r2egym',
    use: 'sources/pipeline',
    with: { pipeline: 'r2egym', args: { source: 'real', check: false, limit: 10_000 } },
  },
  ...Array.from({ length: 26 }, (_, i) => rank(i + 7)),
]
const best = four.stages.slice(0, 4)
const ranking = [...best, ...more].map(({ id }) => id)

/** 10,000 traces from the best of 32 sources; variants remove those that they do not mix. */
const recipe: Recipe = {
  ...four,
  name: 'paper-ranked-sources',
  summary: 'The best sources in equal parts, 10,000 tasks, GLM-4.7 with terminus-2 in Daytona',
  stages: [
    ...best,
    ...more,
    ...four.stages
      .slice(4)
      .map((stage) => (stage.id === 'mix' ? { ...stage, with: { ...stage.with, ranking } } : stage)),
  ],
}
export default recipe
