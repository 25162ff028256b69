import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { dockerfileError, type Place } from '../../formats/dockerfile/error.ts'
import { isInnerAddress } from '../namespaces/allowed-hosts.ts'

const beginnings = ['http://', 'https://', 'git://', 'ssh://', 'ftp://', 'git@']

/**
 * Whether a source of ADD may be something that the engine fetches by itself, from the host's network. Variables may come from
 * the base image, so that a word which begins with one may be anything.
 */
export function isRemote(source: string): boolean {
  const [known = '', ...variables] = source.toLowerCase().split('$')
  if (/[a-z][a-z0-9+.-]*:\/\/|^[^/]*@[^/]*:/.test(known)) return true
  return variables.length > 0 && (known === '' || beginnings.some((beginning) => beginning.startsWith(known)))
}

/** Refuses what leads to this machine, its neighbours or a cloud's metadata. Where a server redirects to is not seen here. */
export async function checkRemote(source: string, at: Place): Promise<void> {
  const no = (why: string) => dockerfileError(at, `ADD ${source} is refused: ${why}; use RUN with curl, or COPY`)
  const [, host] = /^https?:\/\/([^/?#]+)([/?#]|$)/i.exec(source) ?? []
  if (host === undefined) throw no('only http and https are fetched')
  if (host.includes('$')) throw no('the host must be written out')
  const name = hostOf(source)
  if (name === null) throw no('its host cannot be read')
  const isName = isIP(name) === 0
  if (isName && /(^|\.)(localhost|local|internal|localdomain|lan|home|corp)$|^[^.]+$/.test(name))
    throw no('its host is not on the internet')
  const addresses = isName ? await lookup(name, { all: true }).catch(() => []) : [{ address: name }]
  if (addresses.some(({ address }) => isInnerAddress(address))) throw no('its host is not on the internet')
}

/** The host as connections use it: numbers in any spelling become an address. */
function hostOf(source: string): string | null {
  try {
    return new URL(source.split('$')[0] ?? '').hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  } catch {
    return null
  }
}
