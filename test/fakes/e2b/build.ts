import type { Machines, StandInImage } from '../machines.ts'

export interface TemplateBody {
  readonly fromImage?: string
  readonly fromTemplate?: string
  readonly steps?: readonly { readonly type: string; readonly args: readonly string[]; readonly filesHash?: string }[]
}

/** Runs a template's steps in a real machine; every image has this host's files. */
export async function buildTemplate(
  machines: Machines,
  from: StandInImage,
  body: TemplateBody,
  uploaded: (hash: string) => Buffer | undefined,
): Promise<StandInImage> {
  const env: Record<string, string> = { ...from.env }
  let workdir = from.workdir
  const layer = await machines.makeLayer(from, async (machine) => {
    const run = async (script: string, stdin?: Uint8Array) => {
      const result = await machine.exec(['bash', '-c', script], { cwd: workdir, env, ...(stdin && { stdin }) })
      if (result.exitCode !== 0)
        throw new Error(`${script.slice(0, 60)}: exit ${result.exitCode}: ${result.stderr.slice(-300)}`)
    }
    for (const { type, args, filesHash } of body.steps ?? []) {
      const [first = '', second = ''] = args
      if (type === 'RUN') await run(first)
      else if (type === 'ENV') for (let i = 0; i < args.length; i += 2) env[args[i] ?? ''] = args[i + 1] ?? ''
      else if (type === 'WORKDIR') {
        await run(`mkdir -p '${first}'`)
        workdir = first
      } else if (type === 'COPY') {
        const archive = uploaded(filesHash ?? '')
        if (!archive) throw new Error(`${first} was not uploaded`)
        await run(
          `mkdir /context && tar -xzf - -C /context && mkdir -p "$(dirname '${second}')" && cp -a /context/'${first}' '${second}' && rm -r /context`,
          archive,
        )
      } else if (type !== 'USER') throw new Error(`the stand-in does not know ${type}`)
    }
  })
  return { layers: [...from.layers, layer], env: {}, workdir }
}
