import { definePipeline, type RawRow, z } from 'ot-agent'
import delivered from './delivered.ts'

const post = z.object({ title: z.string().default(''), description: z.string().min(20) })
const given = z.object({ attachments: z.array(z.object({ name: z.string(), text: z.string() })) })

/** Jobs that clients posted for freelancers, with or without the file they accepted. */
export default definePipeline({
  name: 'freelancer',
  summary: 'Jobs of freelancers: the delivered file is compared, or a model judges by criteria',
  options: z.strictObject({
    kind: z
      .enum(['file', 'post'])
      .default('file')
      .describe(
        'file: jobs with a delivered file, which tests compare; post: any job post, scored by a judge with criteria from a model',
      ),
  }),
  source: { fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'id' } }, real: null },
  needsModel: ({ kind }) => kind === 'post',
  split: (row, { options: { kind } }) => [kind === 'post' ? asPost(row) : row],
  make: {
    use: ({ options: { kind } }) => (kind === 'post' ? 'makers/judged' : delivered),
    with: ({ options: { kind } }) => ({
      pipeline: 'freelancer',
      ...(kind === 'post' && { instruction: '{{post}}' }),
    }),
  },
})

/** Everything the client wrote, with the text of the client's files; the delivered file stays hidden. */
function asPost(row: RawRow): RawRow {
  const parsed = post.safeParse(row.fields)
  if (!parsed.success) return row
  const { title, description } = parsed.data
  const files = given.safeParse(row.fields).data?.attachments ?? []
  const texts = files.map(({ name, text }) => `The client's file ${name}:\n\n~~~\n${text.trimEnd()}\n~~~`)
  return { ...row, fields: { post: [title.trim(), description.trim(), ...texts].filter(Boolean).join('\n\n') } }
}
