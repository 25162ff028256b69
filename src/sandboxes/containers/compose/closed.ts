import { existsSync } from 'node:fs'
import type { ComposeFile } from '../../../formats/compose/load.ts'
import type { ComposeService } from '../../../formats/compose/service.ts'
import { composeError } from '../../../formats/compose/words.ts'

/**
 * Refuses what would lead a service out of a network without a way out. The host takes part in every bridge: it answers
 * raw frames that a program makes itself, and IPv6 as well.
 */
export function checkClosed(file: ComposeFile, path: string): void {
  if (Object.keys(file.services).length === 1) return
  for (const [name, { rest }] of Object.entries(file.services)) {
    const added = Array.isArray(rest.cap_add) ? rest.cap_add.map(String) : []
    const bad = added.find((capability) => ['NET_ADMIN', 'NET_RAW'].includes(capability))
    if (bad !== undefined)
      throw composeError(path, `services.${name}.cap_add: ${bad} could reach the host, and the task has no network`)
    const setting = Object.keys(settingsOf(rest.sysctls)).find((key) => /^net[./]ipv6[./]/.test(key))
    if (setting !== undefined)
      throw composeError(path, `services.${name}.sysctls: ${setting} could reach the host, and the task has no network`)
  }
}

/** No IPv6, through which the host could be reached at its bridge address, and no names but those of the services. */
export function closedSettings({ sysctls }: ComposeService['rest']): Record<string, unknown> {
  const off = existsSync('/proc/sys/net/ipv6')
    ? { 'net.ipv6.conf.all.disable_ipv6': '1', 'net.ipv6.conf.default.disable_ipv6': '1' }
    : {}
  return { sysctls: { ...settingsOf(sysctls), ...off }, dns: ['127.0.0.1'] }
}

/** Reads sysctls given as a map or as a list of `name=value`. */
function settingsOf(sysctls: unknown): Record<string, string> {
  if (sysctls === undefined || sysctls === null) return {}
  const pairs = Array.isArray(sysctls)
    ? sysctls.map((item): [string, string] => {
        const [name = '', ...value] = String(item).split('=')
        return [name, value.join('=')]
      })
    : Object.entries(sysctls).map(([name, value]): [string, string] => [name, String(value)])
  return Object.fromEntries(pairs.map(([name, value]) => [name.trim(), value]))
}
