// A judge scores what the tests of a task collected, outside the sandbox: ot-agent run ... --judge-model ./examples/plugins/judge.ts
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { definePlugin, type Judge, z } from 'ot-agent'

export default definePlugin({
  name: 'says-thanks',
  summary: 'Gives 1 to work that says thanks',
  options: z.strictObject({ word: z.string().default('thanks').describe('What it looks for') }),
  make:
    ({ word }): Judge =>
    async ({ submissionDir }) => {
      // An agent wrote the files in this folder: read them, never run them.
      const names = await readdir(submissionDir).catch(() => [])
      const texts = await Promise.all(names.map((name) => readFile(join(submissionDir, name), 'utf8')))
      const found = texts.some((text) => text.includes(word))
      return { reward: found ? 1 : 0, report: { files: names, found } }
    },
})
