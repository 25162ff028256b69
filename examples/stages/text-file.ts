// An exporter: it writes the rows into a directory that appears whole or not at all.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { definePlugin, type Sink, z } from 'ot-agent'

export default definePlugin({
  name: 'text-file',
  summary: 'Writes a line for each row',
  options: z.strictObject({ file: z.string().default('lines.txt').describe('The name of the file') }),
  make: ({ file }): Sink => ({
    kind: 'exporter',
    takes: 'raw',
    async write({ view }, { sql, outDir }) {
      const rows = await sql.rows(`SELECT fields->>'text' AS text FROM ${view} ORDER BY row`)
      await writeFile(join(outDir, file), rows.map(({ text }) => `${text}\n`).join(''))
      return { counts: { lines: rows.length }, files: [file] }
    },
  }),
})
