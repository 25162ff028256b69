/**
 * Alternative values for a kind of slot; none is a synonym of another. Slots have the dataset's names, without prefix.
 */
const kinds: readonly { readonly name: RegExp; readonly values: readonly string[] }[] = [
  {
    name: /^(?:origin|destination\d*|(?:sub[-_])?location(?:\.\w+)?|from|to|stops\.location)$/,
    values: ['Oslo', 'Porto', 'Nairobi', 'Denver', 'Kyoto', 'Lima', 'Quebec', 'Tallinn', 'Perth', 'Cairo'],
  },
  {
    name: /^(?:(?:date|day)(?:\.\w+)?|check-(?:in|out)_date|release_date)$/,
    values: ['the 2nd of January', 'the 9th of March', 'the 17th of June', 'the 21st of August', 'the 30th of October'],
  },
  {
    name: /^(?:time(?:\.\w+)?|(?:from|to)\.time)$/,
    values: ['4:15 am', '6:40 am', '11:05 am', '2:35 pm', '5:50 pm', '9:25 pm', '11:45 pm'],
  },
  { name: /^seating_class$/, values: ['economy', 'premium economy', 'business', 'first class'] },
  { name: /^num\.\w+$/, values: ['11', '12', '13', '14', '15', '16'] },
  {
    name: /^(?:total_fare|total_price|fare|price\.\w+|price_per_night)$/,
    values: ['$31', '$58', '$97', '$142', '$415', '$790'],
  },
  {
    name: /^(?:type\.food|menu_item|name\.item)$/,
    values: ['ramen', 'lentil soup', 'falafel', 'pierogi', 'paella'],
  },
  { name: /^(?:genre|name\.genre)$/, values: ['western', 'musical', 'silent', 'puppet', 'nautical'] },
  {
    name: /^(?:name\.(?:hotel|movie|theater|restaurant|team|artist|track|album|person|reservation|player)|airline)$/,
    values: ['Amber Gate', 'North Quay', 'Quiet Harbor', 'Seven Bells', 'Stone Orchard', 'Velvet Comet'],
  },
]

/** `flight_search.origin` without the prefix that all slots of a dialog share. */
function slotName(slot: string): string {
  return slot.replace(/^[^.]*\./, '')
}

/** Details of one of several proposals by the assistant; the customer may not have wanted it. */
export function isProposal(slot: string): boolean {
  return /^[a-z]+\d_detail\./.test(slot)
}

export type Offer = Readonly<Record<string, string>>

/**
 * Offers that contradict the dialog in at least one detail; empty if too few details have alternatives. Every value of
 * such a detail occurs in as many offers as the correct one, so counting does not reveal the right offer.
 */
export function otherOffers(right: Offer, dialog: string): readonly Offer[] {
  const said = dialog.toLowerCase()
  const open = Object.keys(right).flatMap((slot) => {
    const values = kinds.find(({ name }) => name.test(slotName(slot)))?.values ?? []
    // A value that the dialog mentions elsewhere might seem to fit.
    const free = values.filter((value) => !said.includes(value.toLowerCase()))
    return free.length >= 3 ? [{ slot, values: free }] : []
  })
  if (open.length < 2) return []
  const perSlot = open.length === 2 ? 4 : 2
  let offers: readonly Offer[] = [right]
  for (const { slot, values } of open.slice(0, 3))
    offers = offers.flatMap((offer) => [
      offer,
      ...values.slice(0, perSlot).map((value) => ({ ...offer, [slot]: value })),
    ])
  return offers.filter((offer) => offer !== right)
}

/** `flight_search.destination1` as a person would read it. */
export function labelOf(slot: string): string {
  const [head = '', tail = ''] = slotName(slot).replace(/\d+$/, '').split('.')
  const said = (text: string) =>
    text
      .replace('pax', 'passengers')
      .replace(/[._-]+/g, ' ')
      .trim()
  if (tail === '') return said(head)
  if (head === 'name') return said(tail)
  if (head === 'num') return `number of ${said(tail)}`
  if (head === 'type') return `type of ${said(tail)}`
  return /^(?:time|date|day|price)$/.test(head) ? `${said(tail)} ${head}` : `${said(head)} ${said(tail)}`
}

/** Drops slots that share a label but have different values; of those that agree, keeps one. */
export function withoutClashes(offer: Offer): Offer {
  const byLabel = new Map<string, string[]>()
  for (const slot of Object.keys(offer)) byLabel.set(labelOf(slot), [...(byLabel.get(labelOf(slot)) ?? []), slot])
  const plain = (slot: string) => offer[slot]?.toLowerCase().replace(/\W+/g, ' ').trim()
  const kept = [...byLabel.values()].flatMap(([first = '', ...rest]) =>
    rest.every((slot) => plain(slot) === plain(first)) ? [first] : [],
  )
  return Object.fromEntries(kept.map((slot) => [slot, offer[slot] ?? '']))
}
