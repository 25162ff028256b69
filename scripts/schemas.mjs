// Writes the JSON Schemas of schemas/ from the schemas that the program validates files with.
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundle, makeScratchDir } from './bundle.mjs'

const root = resolve(import.meta.dirname, '..')
const program = await bundle(join(root, 'src/app/json-schemas.ts'), makeScratchDir())
const { renderJsonSchemas } = await import(pathToFileURL(program).href)
for (const [name, text] of Object.entries(renderJsonSchemas())) writeFileSync(join(root, 'schemas', name), text)
