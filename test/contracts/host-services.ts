import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Services that only programs of this machine may reach: on its loopback, and on an abstract socket. */
export async function openHostServices() {
  const visits: string[] = []
  const sockets = new Set<Socket>()
  const accept = (what: string) => (socket: Socket) => {
    sockets.add(socket.on('error', () => {}))
    visits.push(what)
    socket.end('a service of the host')
  }
  const tcp = createServer(accept('tcp')).listen(0, '127.0.0.1')
  await once(tcp, 'listening')
  const { port: tcpPort } = tcp.address() as AddressInfo
  const tcp6 = createServer(accept('tcp6')).listen(tcpPort, '::1')
  tcp6.on('error', () => {})
  const udp = createSocket('udp4', (message) => visits.push(`udp ${message}`)).bind(0, '127.0.0.1')
  await once(udp, 'listening')
  const abstractName = `ot-contract-${process.pid}-${tcpPort}`
  const abstract = createServer(accept('abstract')).listen(`\0${abstractName}`)
  await once(abstract, 'listening')
  const settled = async () => {
    // Our own packet arrives after everything sent before it.
    const probe = createSocket('udp4')
    probe.send('probe', udp.address().port, '127.0.0.1')
    while (!visits.includes('udp probe')) await sleep(5)
    probe.close()
    visits.splice(visits.indexOf('udp probe'), 1)
  }
  return {
    tcpPort,
    udpPort: udp.address().port,
    abstractName,
    visits,
    settled,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      for (const server of [tcp, tcp6, abstract]) server.close()
      udp.close()
    },
  }
}
