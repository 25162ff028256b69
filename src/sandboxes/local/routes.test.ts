import { expect, test } from 'vitest'
import { outwardInterfaces, resolverFile } from './routes.ts'

const files = (given: Record<string, string>) => (path: string) => given[path] ?? ''

const header = 'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n'
const zeros = '0'.repeat(32)

test('the interface of the default route with the least metric leads out', () => {
  const v4 = `${header}docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\nwlan0\t00000000\t0100A8C0\t0003\t0\t0\t600\t00000000\t0\t0\t0\neth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n`
  const reject = `${zeros} 00 ${zeros} 00 ${zeros} ffffffff 00000001 00000000 00200200       lo\n`
  const v6 = `${zeros} 00 ${zeros} 00 fd000000000000000000000000000001 00000400 00000001 00000000 00000003     eth1\n`
  expect(outwardInterfaces(files({ '/proc/net/route': v4, '/proc/net/ipv6_route': reject + v6 }))).toEqual({
    v4: 'eth0',
    v6: 'eth1',
  })
  expect(outwardInterfaces(files({ '/proc/net/route': v4, '/proc/net/ipv6_route': reject }))).toEqual({
    v4: 'eth0',
    v6: null,
  })
  expect(outwardInterfaces(files({ '/proc/net/route': header, '/proc/net/ipv6_route': reject }))).toBeNull()
})

test('name servers on the host’s loopback are replaced by those behind them, or relayed', () => {
  const stub = 'nameserver 127.0.0.53\noptions edns0\nsearch lan\n'
  expect(resolverFile(files({ '/etc/resolv.conf': 'nameserver ::1\nnameserver 192.0.2.53\n' }))).toEqual({
    text: 'nameserver 192.0.2.53\n',
    relay: null,
  })
  const behind = { '/etc/resolv.conf': stub, '/run/systemd/resolve/resolv.conf': 'nameserver 192.0.2.1\n' }
  expect(resolverFile(files(behind))).toEqual({
    text: 'nameserver 192.0.2.1\noptions edns0\nsearch lan\n',
    relay: null,
  })
  expect(resolverFile(files({ '/etc/resolv.conf': stub.replace('53', '1') }))).toEqual({
    text: 'nameserver 127.0.0.53\noptions edns0\nsearch lan\n',
    relay: '127.0.0.1',
  })
  expect(resolverFile(files({})).relay).toBe('127.0.0.1')
})
