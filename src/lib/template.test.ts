import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MissingField, renderTemplate } from './template.ts'

test('fields, fields of fields and texts for missing ones are filled in', () => {
  const fields = { a: 'x', n: 0, list: [{ b: 'y' }], empty: '', o: { k: 1 } }
  expect(renderTemplate('{{a}} {{ n }} {{list.0.b}} {{empty|none}} {{no.such|}}|', fields)).toBe('x 0 y none |')
  expect(renderTemplate('{{o}}', fields)).toBe('{\n  "k": 1\n}')
})

test.each(['{{no}}', '{{a.length}}', '{{constructor}}', '{{list.9}}'])('%s is missing, by name', (template) => {
  expect(() => renderTemplate(template, { a: 'x', list: [] })).toThrow(MissingField)
})

test('filled-in text is not expanded again', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (text) => {
      expect(renderTemplate('<{{a}}>', { a: text, b: 1 })).toBe(`<${text}>`)
    }),
  )
  expect(renderTemplate('{{a}}', { a: '{{b}} $& $1' })).toBe('{{b}} $& $1')
})
