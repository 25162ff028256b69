import { readFileSync } from 'node:fs'
import { z } from 'zod'

export const read = (path: string) => readFileSync(path, 'utf8')

/** A schema from schemas/, ready for parsing. */
export function schemaAt(name: string): z.ZodType {
  return z.fromJSONSchema(JSON.parse(read(`schemas/${name}.schema.json`)))
}
