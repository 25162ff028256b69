import fc from 'fast-check'
import { expect, test } from 'vitest'
import { redactArgv, redactEnv, redactKwargs } from './redact.ts'

const host = { OPENAI_API_KEY: 'sk-host-secret-123', PATH: '/bin' }

test('a secret variable equal to the host one becomes its name, any other is masked, templates and harmless names stay', () => {
  const env = {
    OPENAI_API_KEY: 'sk-host-secret-123',
    MY_TOKEN: 'abcdefghijkl',
    SHORT_SECRET: '12345678',
    db_password: '$' + '{PW:-none}',
    PATH: '/bin',
  }
  expect(redactEnv(env, host)).toEqual({
    OPENAI_API_KEY: '$' + '{OPENAI_API_KEY}',
    MY_TOKEN: 'abcd****jkl',
    SHORT_SECRET: '****',
    db_password: '$' + '{PW:-none}',
    PATH: '/bin',
  })
})

test('a text that only contains a template is no template', () => {
  expect(redactEnv({ A_KEY: 'x$' + '{A}secretsecret' }, {})).toEqual({ A_KEY: 'x${A****ret' })
})

test('options are masked at any depth under a secret-sounding key, and nowhere else', () => {
  const kwargs = {
    api_key: 'sk-live-000000000',
    headers: { Authorization: 'Bearer abcdefgh', 'X-Team': 'blue' },
    credentials: { user: 'someone-long', ids: ['first-secret-id'] },
    tokenizer: 'gpt2-large-model',
    max_tokens: 4096,
    max_output_tokens: '4096-ish-limit',
    keystrokes: 'C-c C-c C-c',
    author: 'a person with a name',
  }
  expect(redactKwargs(kwargs, host)).toEqual({
    ...kwargs,
    api_key: 'sk-l****000',
    headers: { Authorization: 'Bear****fgh', 'X-Team': 'blue' },
    credentials: { user: 'some****ong', ids: ['firs****-id'] },
  })
})

test('the name of a variable is kept where one belongs; a secret put there by mistake is not', () => {
  expect(redactKwargs({ api_key_env: 'MY_KEY', engine: { api_key_env: 'sk-live-000-abc' } }, {})).toEqual({
    api_key_env: 'MY_KEY',
    engine: { api_key_env: 'sk-l****abc' },
  })
  expect(redactArgv(['--api-key-env', 'MY_KEY', '--api-key-env', 'sk-live-000-abc'], {})).toEqual([
    '--api-key-env',
    'MY_KEY',
    '--api-key-env',
    'sk-l****abc',
  ])
})

test('a command line keeps its shape and loses its secrets', () => {
  const argv = [
    'ot-agent',
    'run',
    '--ae',
    'OPENAI_API_KEY=sk-host-secret-123',
    '--ae=OTHER_KEY=sk-other-secret',
    '--ae',
    'MODE=fast',
    '--api-key',
    'sk-argument-000',
    '--set',
    'agents.0.env.MY_TOKEN=abcdefghijkl',
    '--ak',
    'headers={"Authorization":"Bearer abcdefgh"}',
    '--ak',
    'extra={"a": 1}',
    '--api-base',
    'https://me:hunter2@example.org/v1',
    '-p',
    'tasks/a=b',
    '--ak=max_tokens=12',
  ]
  expect(redactArgv(argv, host)).toEqual([
    'ot-agent',
    'run',
    '--ae',
    `OPENAI_API_KEY=\${OPENAI_API_KEY}`,
    '--ae=OTHER_KEY=sk-o****ret',
    '--ae',
    'MODE=fast',
    '--api-key',
    'sk-a****000',
    '--set',
    'agents.0.env.MY_TOKEN=abcd****jkl',
    '--ak',
    'headers={"Authorization":"Bear****fgh"}',
    '--ak',
    'extra={"a": 1}',
    '--api-base',
    'https://me:****@example.org/v1',
    '-p',
    'tasks/a=b',
    '--ak=max_tokens=12',
  ])
})

test('redacting twice is redacting once, and no secret longer than a hint survives', () => {
  const secret = fc.string({ minLength: 12 }).filter((text) => !text.includes('*') && !text.includes('$'))
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom('A_KEY', 'TOKEN', 'PASSWORD_2', 'my_auth'), secret), (env) => {
      const once = redactEnv(env, {})
      expect(redactEnv(once, {})).toEqual(once)
      for (const [key, value] of Object.entries(env)) expect(once[key]).not.toContain(value.slice(0, 8))
    }),
  )
})
