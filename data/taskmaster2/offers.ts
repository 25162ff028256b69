/** Other values of a kind of slot; a customer who says one of them does not mean another. */
const kinds: readonly { readonly name: RegExp; readonly values: readonly string[] }[] = [
  {
    name: /origin|destination|location|city|from|to$|stops\.?location/,
    values: ['Oslo', 'Porto', 'Nairobi', 'Denver', 'Kyoto', 'Lima', 'Quebec', 'Tallinn', 'Perth', 'Cairo'],
  },
  {
    name: /date|day/,
    values: ['the 2nd of January', 'the 9th of March', 'the 17th of June', 'the 21st of August', 'the 30th of October'],
  },
  { name: /time/, values: ['4:15 am', '6:40 am', '11:05 am', '2:35 pm', '5:50 pm', '9:25 pm', '11:45 pm'] },
  { name: /class|seating/, values: ['economy', 'premium economy', 'business', 'first class'] },
  { name: /num|count|people|guest|party|passenger|night|room/, values: ['11', '12', '13', '14', '15', '16'] },
  { name: /price|cost|fare|rate/, values: ['$31', '$58', '$97', '$142', '$415', '$790'] },
  { name: /type\.food|cuisine|item|dish|food/, values: ['ramen', 'lentil soup', 'falafel', 'pierogi', 'paella'] },
  { name: /genre|type/, values: ['western', 'musical', 'silent', 'puppet', 'nautical'] },
  {
    name: /name|title|artist|airline|team|theater|hotel|restaurant/,
    values: ['Amber Gate', 'North Quay', 'Quiet Harbor', 'Seven Bells', 'Stone Orchard', 'Velvet Comet'],
  },
]

export type Offer = Readonly<Record<string, string>>

/**
 * Offers that disagree with the dialog in one detail or more; none when too few details have other values. Every value of such a detail is
 * in as many offers as the right one, so that counting does not find the right offer.
 */
export function otherOffers(right: Offer, dialog: string): readonly Offer[] {
  const said = dialog.toLowerCase()
  const open = Object.keys(right).flatMap((slot) => {
    const values = kinds.find(({ name }) => name.test(slot))?.values ?? []
    // A value that the dialog mentions in another place could seem to agree with it.
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

/** `flight_search.destination1` as a person reads it. */
export function labelOf(slot: string): string {
  return slot
    .replace(/^[a-z]+_?(?:search|order|ordering|booking|reservation)?\./, '')
    .replace(/\d+$/, '')
    .replace(/[._]+/g, ' ')
    .trim()
}
