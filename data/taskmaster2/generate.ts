import { definePipeline, z } from 'ot-agent'
import { checkPy } from './check.ts'
import { markedSlots } from './slots.ts'

const domains = ['flights', 'food-ordering', 'hotels', 'movies', 'music', 'restaurant-search', 'sports'] as const
const dialog = z.object({
  conversation_id: z.string(),
  utterances: z.array(
    z.object({
      speaker: z.string(),
      text: z.string(),
      segments: z.array(z.object({ text: z.string(), annotations: z.array(z.object({ name: z.string() })) })).nullish(),
    }),
  ),
})

/** Dialogs between a customer and an assistant: what was asked for, slot by slot. */
export default definePipeline({
  name: 'taskmaster2',
  summary: 'What a customer of a dialog asked for, slot by slot, as people marked it',
  options: z.strictObject({
    domain: z
      .enum(domains)
      .default('flights')
      .describe(`one of ${domains.join(', ')}`),
    minSlots: z.number().int().min(1).default(2).describe('dialogs with fewer slots are left out'),
  }),
  source: {
    fixture: { use: 'sources/file', with: { path: 'fixture.jsonl', id: 'conversation_id' } },
    real: {
      use: 'sources/hub',
      with: ({ options }) => ({
        repo: 'google-research-datasets/taskmaster2',
        config: options.domain,
        id: 'conversation_id',
      }),
    },
  },
  strategy: 'slot-extraction',
  environment: { dockerfile: 'FROM python:3.12-slim\n\nWORKDIR /app\nCOPY dialog.txt /app/dialog.txt\n' },
  verifier: {
    files: {
      'tests/test.sh':
        '#!/bin/sh\nreward=0\nif python3 -I /tests/check.py /app/slots.json /tests/slots.json; then\n  reward=1\nfi\necho "$reward" > /logs/verifier/reward.txt\n',
      'tests/check.py': checkPy,
    },
  },
  make: ({ fields, id }, { options }) => {
    const parsed = dialog.safeParse(fields)
    if (!parsed.success) return { drop: 'missing-field', detail: 'expected conversation_id and utterances', id }
    const slots = markedSlots(parsed.data.utterances)
    const names = Object.keys(slots).sort()
    if (names.length < options.minSlots)
      return { drop: 'no-checkable-answer', detail: `${names.length} slots are marked with one value each`, id }
    const text = parsed.data.utterances.map(({ speaker, text: said }) => `${speaker}: ${said.trim()}`).join('\n')
    const answer = Object.fromEntries(names.map((name) => [name, slots[name]?.[0]]))
    return {
      instruction: `The file \`/app/dialog.txt\` is a dialog between a customer (USER) and an assistant. Find out these details of it:\n\n${names.map((name) => `- \`${name}\``).join('\n')}\n\nWrite \`/app/slots.json\`, a JSON object with exactly these keys. The value of each is the words of the dialog that say it, as few as possible.\n`,
      files: {
        'environment/dialog.txt': { data: `${text}\n` },
        'tests/slots.json': { data: `${JSON.stringify(slots, names, 1)}\n` },
        'solution/slots.json': { data: `${JSON.stringify(answer, null, 1)}\n` },
        'solution/solve.sh': { data: '#!/bin/sh\ncp "$(dirname "$0")/slots.json" /app/slots.json\n' },
      },
    }
  },
})
