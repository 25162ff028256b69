import { expect, test } from 'vitest'
import { AllowedHosts } from './allowed-hosts.ts'

const world: Record<string, string> = {
  'pypi.org': '151.101.0.223',
  'files.pypi.org': '151.101.0.224',
  'evilpypi.org': '151.101.0.225',
  'rebound.org': '127.0.0.1',
  'metadata.org': '169.254.169.254',
  'mapped.org': '::ffff:10.0.0.1',
  'six.org': '2606:4700::1',
  'six-inside.org': 'fd00::1',
}

async function find(hosts: readonly string[], host: string): Promise<string | undefined> {
  const resolve = async (name: string) => {
    const address = world[name]
    if (address === undefined) throw new Error('ENOTFOUND')
    return [{ address, family: address.includes(':') ? 6 : 4 }]
  }
  return (await new AllowedHosts(hosts, resolve).find(host))[0]?.address
}

test('a name allows itself, whatever its case and with the dot of the root, and nothing below or beside it', async () => {
  for (const host of ['pypi.org', 'PyPI.org', 'pypi.org.']) expect(await find(['pypi.org'], host)).toBe('151.101.0.223')
  for (const host of ['files.pypi.org', 'evilpypi.org', 'org', ''])
    expect(await find(['pypi.org'], host)).toBeUndefined()
  expect(await find(['PYPI.ORG'], 'pypi.org')).toBe('151.101.0.223')
})

test('a star allows what is below a name, not the name itself and not what only ends alike', async () => {
  expect(await find(['*.pypi.org'], 'files.pypi.org')).toBe('151.101.0.224')
  for (const host of ['pypi.org', 'evilpypi.org']) expect(await find(['*.pypi.org'], host)).toBeUndefined()
})

test('addresses and ranges allow addresses, and no name that happens to lead there', async () => {
  expect(await find(['10.1.0.0/16'], '10.1.2.3')).toBe('10.1.2.3')
  expect(await find(['10.1.0.0/16'], '10.2.0.1')).toBeUndefined()
  expect(await find(['10.1.2.3'], '10.1.2.3')).toBe('10.1.2.3')
  expect(await find(['2606:4700::/32'], '[2606:4700::1]')).toBe('2606:4700::1')
  expect(await find(['151.101.0.0/16'], 'pypi.org')).toBeUndefined()
  expect(await find([], '127.0.0.1')).toBeUndefined()
})

test('a name that leads inside needs its address on the list too', async () => {
  for (const host of ['rebound.org', 'metadata.org', 'mapped.org', 'six-inside.org'])
    expect(await find([host], host), host).toBeUndefined()
  expect(await find(['rebound.org', '127.0.0.0/8'], 'rebound.org')).toBe('127.0.0.1')
  expect(await find(['six.org'], 'six.org')).toBe('2606:4700::1')
})

test('an unknown name leads nowhere', async () => {
  expect(await find(['nowhere.org'], 'nowhere.org')).toBeUndefined()
})
