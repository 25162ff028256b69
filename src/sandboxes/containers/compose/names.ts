import { z } from 'zod'
import { type ContainerEngine, url } from '../container-engine.ts'
import { openExec } from '../shell.ts'

const listSchema = z.array(z.object({ Id: z.string(), Labels: z.record(z.string(), z.string()).nullish() }))
const addressSchema = z.object({
  NetworkSettings: z.object({
    Networks: z.record(z.string(), z.object({ IPAddress: z.string().nullish() })).nullish(),
  }),
})
const serviceLabel = 'com.docker.compose.service'
/** Ends each of our lines, so that the next run finds them. */
export const hostsMark = '# ot-agent'
const rewrite = `t=$1; k=; while IFS= read -r l; do case $l in *'${hostsMark}') ;; *) k="$k$l
";; esac; done < /etc/hosts; printf '%s%s' "$k" "$t" > /etc/hosts`

/**
 * Writes the addresses of a project's services to each other's /etc/hosts, for engines that resolve no names. A
 * container without a shell is skipped.
 */
export async function writeHosts(engine: ContainerEngine, project: string): Promise<void> {
  const filters = JSON.stringify({ label: [`com.docker.compose.project=${project}`] })
  const { body } = await engine.ask({ method: 'GET', path: '/containers/json', query: { filters } })
  const containers = listSchema.parse(body)
  const lines: string[] = []
  for (const { Id, Labels } of containers) {
    const answer = await engine.ask({ method: 'GET', path: url`/containers/${Id}/json`, accept: [404] })
    const networks = addressSchema.safeParse(answer.body).data?.NetworkSettings.Networks ?? {}
    for (const { IPAddress } of Object.values(networks))
      if (IPAddress) lines.push(`${IPAddress} ${Labels?.[serviceLabel]} ${hostsMark}\n`)
  }
  for (const { Id } of containers) await write(engine, Id, lines.join('')).catch(() => {})
}

async function write(engine: ContainerEngine, container: string, lines: string): Promise<void> {
  const Cmd = ['/bin/sh', '-c', rewrite, 'sh', lines]
  const { stream } = await openExec(engine, container, { Cmd, User: '0' })
  await new Promise<void>((resolve) => {
    for (const event of ['end', 'close', 'error']) stream.once(event, () => resolve())
    stream.resume()
    stream.end()
  })
  stream.destroy()
}
