import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { renderYaml } from './render-yaml.ts'

const words = ['no', 'No', 'yes', 'on', 'OFF', 'y', 'n', 'true', 'null', '~', '1:30', '12:30:45', '1e-7', '0o7', '010']
const odd = [...words, '1_000', '0x1f', '.5', '=', '<<', '2026-01-01', 'Null', '', ' ', '-', '- a', 'a: b', '#', '4e5']

test.each(odd)('the text %j stays a text in YAML 1.1 and in YAML 1.2', (text) => {
  const yaml = renderYaml({ key: text, list: [text], [text]: 1 })
  for (const version of ['1.1', '1.2'] as const)
    expect(parse(yaml, { version })).toEqual({ key: text, list: [text], [text]: 1 })
})

test('a small number has the decimal point that PyYAML requires', () => {
  expect(renderYaml({ rate: 1e-7, large: 1e21, usual: 4e-5 })).toBe('rate: 1.0e-7\nlarge: 1.0e+21\nusual: 0.00004\n')
})

test('anything that JSON can say is read back by both versions', () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
      // JSON has no negative zero.
      const expected = JSON.parse(JSON.stringify(value))
      const yaml = renderYaml(expected)
      for (const version of ['1.1', '1.2'] as const) expect(parse(yaml, { version })).toEqual(expected)
    }),
  )
})
