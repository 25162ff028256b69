import { expect, test } from 'vitest'
import { labelOf, otherOffers } from './offers.ts'
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
})

test('what was rejected is no detail, and what was accepted is one whatever was said before', () => {
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
