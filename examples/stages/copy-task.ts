// A maker: rows in, task drafts out. The recipe writes each draft as a task.
import { definePlugin, draftEach, rowDigest, z } from 'ot-agent'

const test = 'mkdir -p /logs/verifier\ncmp -s /tests/wanted.txt /app/copy.txt && echo 1 || echo 0'

export default definePlugin({
  name: 'copy-task',
  summary: 'Makes a task of each row: write a text to a file',
  options: z.strictObject({}),
  make: () =>
    draftEach((row, seed) => {
      const text = `${row.fields.text}\n`
      if (text.trim() === '') return { drop: 'empty', id: row.id }
      return {
        name: `copy-${row.id}`,
        instruction: `Write this line to /app/copy.txt:\n\n${text}`,
        files: {
          'environment/Dockerfile': { data: 'FROM debian:12-slim\nWORKDIR /app\n' },
          'tests/test.sh': { data: `${test} > /logs/verifier/reward.txt\n` },
          'tests/wanted.txt': { data: text },
          'solution/wanted.txt': { data: text },
          'solution/solve.sh': { data: 'cp "$(dirname "$0")/wanted.txt" /app/copy.txt\n' },
        },
        lineage: { pipeline: 'copies', strategy: 'copy-task', rowId: row.id, rowDigest: rowDigest(row), seed },
      }
    }),
})
