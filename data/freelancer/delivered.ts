import {
  type Dropped,
  definePlugin,
  draftEach,
  type MapStage,
  type RawRow,
  rowDigest,
  type TaskDraft,
  z,
} from 'ot-agent'
import { checkPy } from './check.ts'

const file = z.object({ name: z.string().regex(/^\w[\w.-]{0,60}$/), text: z.string().min(1).max(200_000) })
const project = z.object({
  title: z.string(),
  description: z.string().min(20),
  skills: z.array(z.string()).default([]),
  attachments: z.array(file).nullish(),
  delivered: file.nullish(),
})

const options = z.strictObject({ pipeline: z.string().min(1) })

/** The client's files, and the finally accepted file, with which the agent's is compared. */
export default definePlugin<MapStage<RawRow, TaskDraft>, typeof options>({
  name: 'delivered-file',
  summary: 'One task a finished project: the file that was accepted is compared with what the agent delivers',
  options,
  make: ({ pipeline }) => draftEach((row, seed) => makeDraft(row, pipeline, seed)),
})

function makeDraft(row: RawRow, pipeline: string, seed: number): TaskDraft | Dropped {
  const { fields, id } = row
  const parsed = project.safeParse(fields)
  if (!parsed.success) return { drop: 'missing-field', detail: z.prettifyError(parsed.error).slice(0, 200), id }
  const { title, description, delivered } = parsed.data
  const attachments = parsed.data.attachments ?? []
  if (!delivered) return { drop: 'no-checkable-answer', detail: 'nothing was delivered that could be compared', id }
  if (!/\.(?:txt|json|csv|md|tsv)$/.test(delivered.name))
    return { drop: 'no-checkable-answer', detail: `${delivered.name} is no plain file`, id }
  if (attachments.length === 0) return { drop: 'no-input', detail: 'the client gave no files to work on', id }
  if (new Set(attachments.map(({ name }) => name)).size < attachments.length)
    return { drop: 'no-input', detail: 'two files of the client have the same name', id }
  if (attachments.some(({ text }) => text.includes(delivered.text.trim())))
    return { drop: 'answer-given', detail: 'an attachment holds what is to be delivered', id }
  const names = attachments.map(({ name }) => `\`/app/${name}\``).join(', ')
  const copies = attachments.map(({ name }) => `COPY files/${name} /app/${name}\n`).join('')
  return {
    name: `${pipeline}-${id}`,
    instruction: `# ${title.trim()}\n\n${description.trim()}\n\nThe client's files: ${names}. Deliver \`/app/${delivered.name}\`.\n`,
    files: {
      'environment/Dockerfile': { data: `FROM python:3.12-slim\n\nWORKDIR /app\n${copies}` },
      // In a folder of their own: a client's file may be named Dockerfile, or anything else with a special meaning
      // there.
      ...Object.fromEntries(attachments.map(({ name, text }) => [`environment/files/${name}`, { data: text }])),
      'tests/test.sh': {
        data: `#!/bin/sh\nreward=0\nif python3 -I /tests/check.py /app/${delivered.name} /tests/delivered; then\n  reward=1\nfi\necho "$reward" > /logs/verifier/reward.txt\n`,
      },
      'tests/check.py': { data: checkPy },
      'tests/delivered': { data: delivered.text },
      'solution/delivered': { data: delivered.text },
      'solution/solve.sh': { data: `#!/bin/sh\ncp "$(dirname "$0")/delivered" /app/${delivered.name}\n` },
    },
    lineage: { pipeline, strategy: 'delivered-file', rowId: id, rowDigest: rowDigest(row), seed },
  }
}
