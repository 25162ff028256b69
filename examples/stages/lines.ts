// A source: one row for each line of a text file.
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { definePlugin, digestJson, type RawRow, type Source, z } from 'ot-agent'

export default definePlugin({
  name: 'lines',
  summary: 'The lines of a text file',
  options: z.strictObject({ path: z.string().describe('The text file') }),
  make: ({ path }, { resolvePath = (given) => given }): Source<RawRow> => ({
    kind: 'source',
    gives: 'raw',
    // The same fingerprint promises the same rows, so a changed file is read again.
    fingerprint: async () => digestJson(await readFile(resolvePath(path), 'utf8')),
    async *rows() {
      let number = 0
      for await (const text of createInterface({ input: createReadStream(resolvePath(path)) }))
        yield { id: `line-${++number}`, source: 'lines', fields: { text } }
    },
  }),
})
