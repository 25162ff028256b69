import { expect, test } from 'vitest'
import { secretValues, withoutSecrets } from './without-secrets.ts'

const secret = [
  'OPENAI_API_KEY',
  'HF_TOKEN',
  'PGPASSWORD',
  'DB_PASS',
  'REDIS_PWD',
  'GPG_PASSPHRASE',
  'HTTP_AUTH',
  'HTTP_AUTHORIZATION',
]
const plain = ['HOME', 'PWD', 'GIT_AUTHOR_NAME', 'XAUTHORITY', 'SSH_AUTH_SOCK', 'DC_AGENT_SECRET_ENV', 'PASSENGERS']
const env = Object.fromEntries([...secret, ...plain].map((name) => [name, `value of ${name}`]))

test('variables that sound like secrets are passed to no scheduler, and may appear in no script', () => {
  expect(Object.keys(withoutSecrets(env)).sort()).toEqual([...plain].sort())
  expect([...secretValues(env).keys()].sort()).toEqual([...secret].sort())
})

test('values that are unset, or too short to be distinguished from other text, are not searched for', () => {
  expect([...secretValues({ A_KEY: undefined, B_KEY: 'short' })]).toEqual([])
  expect(withoutSecrets({ HOME: undefined })).toEqual({})
})
