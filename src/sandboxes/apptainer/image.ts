import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { BoundaryError } from '../../core/errors.ts'
import type { Environment, Healthcheck } from '../../core/task.ts'
import { readInside } from '../../formats/dockerfile/context.ts'
import { parseDockerfile } from '../../formats/dockerfile/parse.ts'
import { planDockerfile } from '../../formats/dockerfile/plan.ts'
import { draftOf, removeDraft, renameDraft } from '../../lib/drafts.ts'
import { exists } from '../../lib/files.ts'
import { SharedWork } from '../../lib/shared-work.ts'
import { buildArgs } from './commands.ts'
import { type Apptainer, runProgram } from './program.ts'

/** What a sandbox starts from, and how its commands run. */
export interface Image {
  readonly source: Source
  readonly env: Readonly<Record<string, string>>
  readonly workdir: string
  readonly user: string | undefined
  readonly healthcheck: Healthcheck | null
}

/** A path on this machine, or the name of an image in a registry. */
export type Source = { readonly path: string } | { readonly registry: string }

const plain = { env: {}, workdir: '/', user: undefined, healthcheck: null }

/**
 * Finds the image a task wants; one that would have to be built from a Dockerfile is refused with advice on what to do
 * instead.
 */
export async function findImage(environment: Environment, fallback: string | undefined): Promise<Image> {
  if (environment.dockerImage !== undefined) return { source: parseSource(environment.dockerImage), ...plain }
  const text = await readInside(environment.dir, 'Dockerfile').catch(() => null)
  if (text !== null) return imageOfDockerfile(text)
  if (fallback !== undefined) return { source: parseSource(fallback), ...plain }
  throw refused('the task names no image', 'set one for such tasks with --ek image=FILE.sif or --ek image=debian:12')
}

/** Paths are absolute or end in `.sif`; anything else is a name. */
export function parseSource(image: string): Source {
  const name = image.replace(/^docker:\/\//, '')
  const isPath = isAbsolute(image) || (image === name && image.endsWith('.sif'))
  // Apptainer accepts a tag or a digest, not both.
  return isPath ? { path: image } : { registry: name.replace(/:[^/:@]+@/, '@') }
}

/** A Dockerfile that only names an image and how its commands run needs no build. */
export function imageOfDockerfile(text: string): Image {
  const { stages } = planDockerfile(
    parseDockerfile(text, 'Dockerfile'),
    `linux/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  )
  const [stage] = stages
  const building = stages.flatMap(({ steps }) => steps).find(({ kind }) => kind !== 'directory')
  if (!stage || stages.length > 1 || 'stage' in stage.base || building)
    throw refused(
      `the Dockerfile has to be built${building ? ` (line ${building.line}: ${building.title})` : ''}`,
      'build it on a machine with Docker or Podman, push it and set it as docker_image, or convert it to a .sif file',
    )
  const { env, workdir, user, healthcheck } = stage.config
  return { source: { registry: stage.base.image }, env, workdir, user, healthcheck }
}

const builds = new SharedWork<string>()

/** The path from which Apptainer starts an image; a registry image is fetched once and kept as a file. */
export async function fetchImage(
  apptainer: Apptainer,
  imagesDir: string,
  source: Source,
  how: { readonly forceBuild?: boolean; readonly signal?: AbortSignal; readonly log?: (line: string) => void },
): Promise<string> {
  if ('path' in source) {
    if (await exists(source.path)) return source.path
    throw refused(`the image ${source.path} does not exist`, 'check that the path is one on this machine')
  }
  const target = imageFile(imagesDir, source.registry)
  if (!how.forceBuild && (await exists(target))) return target
  const { signal = new AbortController().signal, log = () => {} } = how
  return builds.run(target, signal, async (signal) => {
    log(`fetches ${source.registry}`)
    await mkdir(imagesDir, { recursive: true })
    const draft = draftOf(target)
    try {
      await runProgram(apptainer, buildArgs(draft, source.registry, apptainer.isRoot), {
        signal,
        env: ownEnv(apptainer),
      })
      await renameDraft(draft, target)
      return target
    } finally {
      await removeDraft(draft)
    }
  })
}

export function imageFile(imagesDir: string, registry: string): string {
  const digest = createHash('sha256').update(registry).digest('hex').slice(0, 16)
  return join(imagesDir, `${registry.replace(/[^a-zA-Z0-9.-]+/g, '_').slice(0, 80)}-${digest}.sif`)
}

/** A user's own settings apply to fetching: proxies, caches and registry keys. */
function ownEnv({ prefix, configDir }: Apptainer): Record<string, string> {
  const wanted = new RegExp(`^(${prefix}_(?!CONFIGDIR).*|https?_proxy|no_proxy|TMPDIR|SSL_CERT_(FILE|DIR))$`, 'i')
  const own = Object.entries(process.env).flatMap(([name, value]) =>
    value !== undefined && wanted.test(name) ? [[name, value]] : [],
  )
  return { ...Object.fromEntries(own), [`${prefix}_CONFIGDIR`]: configDir }
}

function refused(what: string, cure: string): BoundaryError {
  return new BoundaryError('task', `${what}, which the apptainer sandbox cannot start from; ${cure}`, {
    code: 'UnsupportedEnvironmentError',
    retryable: false,
  })
}
