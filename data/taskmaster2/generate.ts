import { createHash } from 'node:crypto'
import { definePipeline, z } from 'ot-agent'
import { checkDeskPy, deskPy } from './desk.ts'
import { isProposal, labelOf, type Offer, otherOffers, withoutClashes } from './offers.ts'
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

/** Dialogs between a customer and an assistant: the agent books what the customer wants with a small service. */
export default definePipeline({
  name: 'taskmaster2',
  summary: 'What a customer of a dialog wants is booked at a service with offers that nearly fit',
  options: z.strictObject({
    domain: z
      .enum(domains)
      .default('flights')
      .describe(`one of ${domains.join(', ')}`),
    minSlots: z.number().int().min(2).default(2).describe('dialogs with fewer slots are skipped'),
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
  strategy: 'booking-service',
  environment: {
    dockerfile: 'FROM python:3.12-slim\n\nWORKDIR /app\nCOPY dialog.txt /app/dialog.txt\nCOPY desk /app/desk\n',
  },
  make: ({ fields, id }, { options }) => {
    const parsed = dialog.safeParse(fields)
    if (!parsed.success) return { drop: 'missing-field', detail: 'expected conversation_id and utterances', id }
    const { utterances } = parsed.data
    const slots = markedSlots(utterances)
    const names = Object.keys(slots)
      .filter((slot) => !isProposal(slot))
      .sort()
    const right = withoutClashes(Object.fromEntries(names.map((name) => [name, slots[name]?.[0] ?? ''])))
    const count = Object.keys(right).length
    if (count < options.minSlots)
      return { drop: 'no-checkable-answer', detail: `${count} slots are marked with one value each`, id }
    const text = utterances.map(({ speaker, text: said }) => `${speaker}: ${said.trim()}`).join('\n')
    const others = otherOffers(right, text)
    if (others.length === 0)
      return { drop: 'no-other-offers', detail: 'fewer than two slots have other values to offer', id }
    const offers = named([right, ...others], id)
    const [booked] = Object.keys(offers)
    return {
      instruction: `\`/app/dialog.txt\` is a conversation between a customer (USER) and an assistant. Book what the customer wants at the booking desk: exactly one of its offers matches the conversation in every detail. Book that offer, once, and nothing else.\n\nThe booking desk is a program; run \`python3 /app/desk/desk.py\` without arguments to see how to use it.\n`,
      files: {
        'environment/dialog.txt': { data: `${text}\n` },
        'environment/desk/desk.py': { data: deskPy, executable: true },
        'environment/desk/offers.json': { data: `${JSON.stringify(labelled(offers), null, 1)}\n` },
        'tests/check.py': { data: checkDeskPy },
        'tests/test.sh': {
          data: `#!/bin/sh\nreward=0\nif python3 -I /tests/check.py /app/desk/bookings.json ${booked}; then\n  reward=1\nfi\necho "$reward" > /logs/verifier/reward.txt\n`,
        },
        'solution/solve.sh': { data: `#!/bin/sh\npython3 /app/desk/desk.py book ${booked}\n` },
      },
    }
  },
})

/** Gives each offer a name that reveals nothing; the first stays first. */
function named(offers: readonly Offer[], seed: string): Readonly<Record<string, Offer>> {
  const nameOf = (i: number) => createHash('sha256').update(`${seed} ${i}`).digest('hex').slice(0, 6)
  return Object.fromEntries(offers.map((offer, i) => [`F-${nameOf(i)}`, offer]))
}

/** As the desk prints them, in an order that reveals nothing. */
function labelled(offers: Readonly<Record<string, Offer>>): Readonly<Record<string, Offer>> {
  const spelled = (offer: Offer) =>
    Object.fromEntries(Object.entries(offer).map(([slot, value]) => [labelOf(slot), value]))
  return Object.fromEntries(
    Object.entries(offers)
      .map(([name, offer]) => [name, spelled(offer)] as const)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}
