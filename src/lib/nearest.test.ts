import { expect, test } from 'vitest'
import { nearest } from './nearest.ts'

const known = ['model', 'max_output_tokens', 'healthcheck_interval', 'request_params', 'type']

test.each([
  ['modle', 'model'],
  ['max-output-tokens', 'max_output_tokens'],
  ['MaxOutputToken', 'max_output_tokens'],
  ['healtcheck_intervall', 'healthcheck_interval'],
  ['tpye', 'type'],
  ['request_parms', 'request_params'],
])('%s is close to %s', (name, expected) => {
  expect(nearest(name, known)).toBe(expected)
})

test.each(['zebra', 'x', 'completely_different_thing'])('nothing is close to %s', (name) => {
  expect(nearest(name, known)).toBeNull()
})
