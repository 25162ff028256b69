import { expect, test } from 'vitest'
import { agentConfig, trialConfig } from '../../../test/fakes/configs.ts'
import { makeMask } from './mask.ts'

const named = '$' + '{MY_SECRET}'

test('a literal secret and one taken from the host are hidden, harmless values are not', () => {
  const env = { API_KEY: 'sk-literal-1', OTHER: named, MODE: 'verbose-mode', ROOT: '/srv/data-1', MYSQL_PWD: 'hunter' }
  const mask = makeMask(trialConfig({ agent: agentConfig({ env }) }), { MY_SECRET: 'from-the-host' })
  expect(mask('sk-literal-1 from-the-host verbose-mode')).toBe('**** **** verbose-mode')
  expect(mask('cd /srv/data-1 as hunter')).toBe('cd /srv/data-1 as ****')
})

test('a password is hidden under any name, and alone where a URL held it', () => {
  const env = { THING: 'x9$kk-Q', DATABASE: 'mysql://me:pass-77@db/app' }
  const mask = makeMask(trialConfig({ agent: agentConfig({ env }) }), {})
  expect(mask('x9$kk-Q mysql://me:pass-77@db/app pass-77')).toBe('**** **** ****')
})

test('a secret inside a longer one: nothing of either remains', () => {
  const env = { A_KEY: 'secret', B_KEY: 'secret-longer' }
  expect(makeMask(trialConfig({ agent: agentConfig({ env }) }), {})('x secret-longer y')).toBe('x **** y')
})
