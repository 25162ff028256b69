import { z } from 'zod'
import { jobSchema, trialSchema } from '../formats/harbor-job/job-config.ts'
import { taskTomlSchema } from '../formats/harbor-task/schema.ts'
import { trialRecordSchema } from '../store/trial-record.ts'
import { recipeSchema } from './recipe/load-recipe.ts'

/** The files in schemas/, each with its schema's title. */
const schemas = {
  task: { title: 'task.toml of a Harbor task', schema: taskTomlSchema },
  job: { title: 'Job file, YAML or JSON', schema: jobSchema },
  'trial-config': { title: 'config.json of a trial', schema: trialSchema },
  'trial-record': { title: 'record.json of a trial', schema: trialRecordSchema },
  recipe: { title: 'Recipe', schema: recipeSchema },
}

/** The text of every file in schemas/ by name. They describe valid input, in which defaults may be left out. */
export function renderJsonSchemas(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { title, schema }]) => {
      const { $schema, ...body } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
      return [`${name}.schema.json`, `${JSON.stringify({ $schema, title, ...body }, null, 2)}\n`]
    }),
  )
}
