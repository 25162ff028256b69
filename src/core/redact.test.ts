import fc from 'fast-check'
import { expect, test } from 'vitest'
import { redactArgv, redactEnv, redactKwargs } from './redact.ts'

const host = { OPENAI_API_KEY: 'sk-host-secret-123', PATH: '/bin' }

test('a variable equal to the host one becomes its name, any other literal is masked whatever its name, templates stay', () => {
  const env = {
    MYSQL_PWD: 'hunter2',
    PASSWD: 'abcdefghi',
    DATABASE_URL: 'postgres://me:hunter2@db/app',
    FALLBACK: '$' + '{DB:-postgres://me:hunter2@db/app}',
    MODE: 'fast',
    EMPTY: '',
    OPENAI_API_KEY: 'sk-host-secret-123',
    MY_TOKEN: 'abcdefghijkl',
    SHORT_SECRET: '12345678',
    db_password: '$' + '{PW:-none}',
    PATH: '/bin',
  }
  expect(redactEnv(env, host)).toEqual({
    MYSQL_PWD: '****',
    PASSWD: '****',
    DATABASE_URL: '****',
    FALLBACK: '$' + '{DB}',
    MODE: '****',
    EMPTY: '',
    OPENAI_API_KEY: '$' + '{OPENAI_API_KEY}',
    MY_TOKEN: '****',
    SHORT_SECRET: '****',
    db_password: '$' + '{PW:-none}',
    PATH: '$' + '{PATH}',
  })
})

test('a text that only contains a template is not a template', () => {
  expect(redactEnv({ A_KEY: 'x$' + '{A}secretsecret' }, {})).toEqual({ A_KEY: '****' })
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
    pass_rate: 'half of them',
    store: 'redis://:hunter2@cache:6379/0',
    db_passwd: 'hunter2',
    servers: [{ env: { MODE: 'fast', KEPT: '$' + '{KEPT}' } }],
  }
  expect(redactKwargs(kwargs, host)).toEqual({
    ...kwargs,
    api_key: '****',
    headers: { Authorization: '****', 'X-Team': 'blue' },
    credentials: { user: '****', ids: ['****'] },
    store: 'redis://:****@cache:6379/0',
    db_passwd: '****',
    servers: [{ env: { MODE: '****', KEPT: '$' + '{KEPT}' } }],
  })
})

test('a word that ends like the name of a count hides no secret', () => {
  const secret = 'hunter2-hunter2'
  for (const name of ['session_token', 'aws_session_token', 'sessionToken', 'admin_token', 'tokenizer_api_key']) {
    expect([name, redactKwargs({ [name]: secret }, {})]).toEqual([name, { [name]: '****' }])
    expect(redactArgv(['--ak', `${name}=${secret}`], {})).toEqual(['--ak', `${name}=****`])
  }
  const counts = { max_completion_tokens: '12', maxOutputTokens: '12', n_tokens: '12', llm_max_tokens: '12' }
  expect(redactKwargs(counts, {})).toEqual(counts)
})

test('a key that ends with an equals sign is not an assignment', () => {
  const key = 'c2VjcmV0LXNlY3JldA=='
  const argv = ['--api-key', key, `--api-key=${key}`, '--api-key-env', key, `--api-key-env=${key}`]
  expect(redactArgv(argv, {})).toEqual([
    '--api-key',
    '****',
    '--api-key=****',
    '--api-key-env',
    '****',
    '--api-key-env=****',
  ])
})

test('the name of a variable is kept where one belongs; a secret put there by mistake is not', () => {
  expect(redactKwargs({ api_key_env: 'MY_KEY', engine: { api_key_env: 'sk-live-000-abc' } }, {})).toEqual({
    api_key_env: 'MY_KEY',
    engine: { api_key_env: '****' },
  })
  expect(redactArgv(['--api-key-env', 'MY_KEY', '--api-key-env', 'sk-live-000-abc'], {})).toEqual([
    '--api-key-env',
    'MY_KEY',
    '--api-key-env',
    '****',
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
    '--set',
    'agents[0].env.PGPASS=hunter2',
    '--set=verifier.env={"A":"hunter2"}',
    '--ve=DB=mysql://me:hunter2@db',
    '--agent-env',
    'A=hunter2 and more',
    '--pass-env',
    'HOME',
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
    '--ae=OTHER_KEY=****',
    '--ae',
    'MODE=****',
    '--api-key',
    '****',
    '--set',
    'agents.0.env.MY_TOKEN=****',
    '--set',
    'agents[0].env.PGPASS=****',
    '--set=verifier.env={"A":"****"}',
    '--ve=DB=****',
    '--agent-env',
    'A=****',
    '--pass-env',
    'HOME',
    '--ak',
    'headers={"Authorization":"****"}',
    '--ak',
    'extra={"a": 1}',
    '--api-base',
    'https://me:****@example.org/v1',
    '-p',
    'tasks/a=b',
    '--ak=max_tokens=12',
  ])
})

test('redacting twice is redacting once, and nothing of a literal survives, whatever its name and length', () => {
  const secret = fc.string({ minLength: 1 }).filter((text) => !/[*$]/.test(text))
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom('A_KEY', 'MODE', 'MYSQL_PWD', 'x'), secret), (env) => {
      const once = redactEnv(env, {})
      expect(redactEnv(once, {})).toEqual(once)
      expect(Object.values(once).every((value) => value === '****')).toBe(true)
    }),
  )
})
