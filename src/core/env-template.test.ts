// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these strings are the templates under test.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseTemplate, requiredHostVars, resolveEnv } from './env-template.ts'
import { UserError } from './errors.ts'

test('fills in whole-value templates and nothing else', () => {
  const env = {
    A: '${HOST}',
    B: '${NONE:-fallback}',
    C: '${HOST:-fallback}',
    D: '${NONE:-}',
    E: 'x ${HOST}',
    F: '$HOST',
    G: '',
  }
  expect(resolveEnv(env, { HOST: 'h' })).toEqual({
    A: 'h',
    B: 'fallback',
    C: 'h',
    D: '',
    E: 'x ${HOST}',
    F: '$HOST',
    G: '',
  })
})

test('treats an empty host variable as set', () => {
  expect(resolveEnv({ A: '${HOST:-fallback}', B: '${HOST}' }, { HOST: '' })).toEqual({ A: '', B: '' })
})

test('names every variable that is missing, and no value', () => {
  const resolve = () => resolveEnv({ A: '${ONE}', B: '${TWO}', C: '${ONE}', D: 'secret' }, { THREE: 'secret' })
  expect(resolve).toThrow(UserError)
  expect(resolve).toThrow('variables ONE, TWO, but')
  expect(resolve).not.toThrow('secret')
})

test('ignores properties that objects inherit', () => {
  expect(() => resolveEnv({ A: '${constructor}' }, {})).toThrow('constructor')
})

test('keeps a default with braces and colons whole', () => {
  expect(resolveEnv({ A: '${NONE:-{"a": "b:-c"}}' }, {})).toEqual({ A: '{"a": "b:-c"}' })
})

test('lists each host variable once, required when any use has no default', () => {
  const vars = requiredHostVars([
    { A: '${X:-1}', B: 'literal', C: '${Y}' },
    { D: '${X}' },
    { E: '${Y:-2}', F: '${Z:-}' },
  ])
  expect(vars).toEqual([
    { name: 'X', fallback: null },
    { name: 'Y', fallback: null },
    { name: 'Z', fallback: '' },
  ])
})

test('leaves every map without a dollar sign alone', () => {
  const value = fc.string().filter((text) => !text.includes('$'))
  fc.assert(
    fc.property(fc.dictionary(fc.string(), value), (env) => {
      expect(resolveEnv(env, {})).toEqual({ ...env })
      expect(requiredHostVars([env])).toEqual([])
    }),
  )
})

test('reads names up to the closing brace', () => {
  expect(parseTemplate('${A}')).toEqual({ name: 'A', fallback: null })
  expect(parseTemplate('${A:b}')).toBeNull()
  expect(parseTemplate('${}')).toBeNull()
  expect(parseTemplate('${A}\n')).toBeNull()
})
