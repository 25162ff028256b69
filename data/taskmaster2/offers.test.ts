import { expect, test } from 'vitest'
import { isProposal, labelOf, otherOffers, withoutClashes } from './offers.ts'
import { markedSlots } from './slots.ts'

const right = {
  'flight_search.origin': 'Kyiv',
  'flight_search.destination1': 'Rome',
  'flight_search.seating_class': 'business',
}

test('every value of an open detail is in as many offers as the right one', () => {
  const offers = [right, ...otherOffers(right, 'USER: from Kyiv to Rome, business. Not Oslo.')]
  expect(new Set(offers.map((offer) => JSON.stringify(offer))).size).toBe(27)
  for (const slot of Object.keys(right) as (keyof typeof right)[]) {
    const counts = new Map<string | undefined, number>()
    for (const offer of offers) counts.set(offer[slot], (counts.get(offer[slot]) ?? 0) + 1)
    expect([...counts.values()]).toEqual([9, 9, 9])
  }
  expect(JSON.stringify(offers)).not.toContain('Oslo')
})

test('a dialog with one detail that can be open has no other offers', () => {
  expect(otherOffers({ 'x.origin': 'Kyiv', 'x.mood': 'good' }, 'from Kyiv')).toEqual([])
})

test('details are labelled for people', () => {
  expect(Object.keys(right).map(labelOf)).toEqual(['origin', 'destination', 'seating class'])
  const more = ['movie_ticket.name.theater', 'flight_search.num.pax', 'x.time.pickup', 'x.type.food', 'x.check-in_date']
  expect(more.map(labelOf)).toEqual(['theater', 'number of passengers', 'pickup time', 'type of food', 'check in date'])
})

// Names from the dataset's ontology.
test.each([
  'flight_search.type',
  'flight_search.time_of_day',
  'flight_search.seat_location',
  'flight_search.price_range',
  'hotel_search.amenity',
  'hotel_search.star_rating',
  'hotel_search.type.room',
  'movie_search.type.screening',
  'movie_search.runtime',
  'restaurant.type.meal',
  'restaurant.business_hours',
  'food_order.type.retrieval',
  'food_order.phone.restaurant',
])('%s has no other values that would fit it, so it is the same in all offers', (slot) => {
  const offers = otherOffers({ ...right, [slot]: 'as said' }, 'USER: from Kyiv to Rome')
  expect(new Set(offers.map((offer) => (offer as Record<string, string>)[slot]))).toEqual(new Set(['as said']))
})

test.each([
  ['flight1_detail.from.time', '4:15 am'],
  ['hotel_search.date.depart_origin', 'the 2nd of January'],
  ['food_order.name.restaurant', 'Amber Gate'],
  ['hotel1_detail.price_per_night', '$31'],
])('other values of %s are of its kind', (slot, value) => {
  const offers = otherOffers({ 'x.origin': 'Kyiv', [slot]: 'as said' }, 'USER: from Kyiv')
  expect(offers.map((offer) => (offer as Record<string, string>)[slot])).toContain(value)
})

test('the assistant’s proposals are not details, and clashing labels are left out', () => {
  expect(['flight1_detail.airline', 'flight_search.origin'].map(isProposal)).toEqual([true, false])
  expect(
    withoutClashes({
      'restaurant.name.restaurant': 'The Quay',
      'restaurant_reservation.name.restaurant': 'the quay.',
      'flight_search.destination1': 'Rome',
      'flight_search.destination2': 'Paris',
    }),
  ).toEqual({ 'restaurant.name.restaurant': 'The Quay' })
})

test('a rejected value is not a detail, and an accepted one is, whatever was said before', () => {
  const said = (text: string, name: string) => ({ text, segments: [{ text, annotations: [{ name }] }] })
  const slots = markedSlots([
    said('7 pm', 'r.time'),
    said('7 pm.', 'r.time.reject'),
    said('The Quay', 'r.name.reject'),
    said('8', 'r.time.accept'),
    said('5', 'r.time'),
    said('six', 'r.guests'),
  ])
  expect(slots).toEqual({ 'r.time': ['8'], 'r.guests': ['six'] })
})
