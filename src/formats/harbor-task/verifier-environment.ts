import { join } from 'node:path'
import type { Environment, VerifierLimits } from '../../core/task.ts'
import { testsDir } from '../../core/task-paths.ts'
import { kindInTask } from './read.ts'
import type { EnvironmentSettings, VerifierSettings } from './settings.ts'

export interface VerifierPlace {
  readonly taskDir: string
  readonly environment: Environment
  /** From the nearest to the farthest: a step's own table and directory, then the task's. */
  readonly levels: readonly { readonly dir: string; readonly environment: EnvironmentSettings | undefined }[]
}

export interface PlacedVerifier {
  readonly limits: VerifierLimits
  /** The verifier's image brings its own /tests, so the task needs no test script. */
  readonly bundlesTests: boolean
}

/**
 * Finds where a separate verifier's sandbox is built from. The nearest level that names an image or has a Dockerfile
 * among its tests decides; its image then holds the tests. Otherwise it is built like the task's own environment.
 */
export async function placeVerifier(settings: VerifierSettings, place: VerifierPlace): Promise<PlacedVerifier> {
  const { environment: _, ...limits } = settings
  if (settings.mode === 'shared') return { limits, bundlesTests: false }
  const { dockerImage: ownImage, ...config } = place.levels.find((l) => l.environment)?.environment ?? place.environment
  for (const level of place.levels) {
    const dir = testsDir(level.dir)
    const dockerImage = level.environment?.dockerImage
    if (dockerImage) return { limits: { ...limits, environment: { ...config, dockerImage, dir } }, bundlesTests: true }
    if (await hasBuildFile(place.taskDir, dir)) {
      return { limits: { ...limits, environment: { ...config, dir } }, bundlesTests: true }
    }
  }
  const { dir, dockerImage } = place.environment
  const image = dockerImage === undefined ? {} : { dockerImage }
  return { limits: { ...limits, environment: { ...config, ...image, dir } }, bundlesTests: false }
}

async function hasBuildFile(taskDir: string, dir: string): Promise<boolean> {
  const kinds = await Promise.all(
    ['Dockerfile', 'docker-compose.yaml'].map((name) => kindInTask(taskDir, join(dir, name))),
  )
  return kinds.includes('file')
}
