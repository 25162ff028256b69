import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe } from 'vitest'
import type { SandboxProvider } from '../src/core/sandbox.ts'
import { ownedLabel } from '../src/sandboxes/containers/labels.ts'
import docker from '../src/sandboxes/docker.ts'
import podman from '../src/sandboxes/podman.ts'
import {
  baseImage,
  makeBase,
  startEngine,
  type TestEngine,
  type TestEngineOptions,
  whyNotApart,
  whyNotEngine,
} from './container-engine.ts'
import './needs.ts'

export interface EngineSuite {
  readonly name: 'docker' | 'podman'
  /** The engine, available once tests run. */
  readonly started: () => TestEngine
  /** Makes a provider that builds without network on our own base image. */
  readonly makeProvider: (options?: Readonly<Record<string, unknown>>) => SandboxProvider
}

/**
 * Runs a suite on an engine of each kind, started for it with its own store; a kind that is missing is skipped by name.
 */
export function onEachEngine(
  stateDir: string,
  suite: (at: EngineSuite) => void,
  more: readonly string[] = [],
  options: TestEngineOptions = {},
): void {
  describe.each(['podman', 'docker'] as const)('%s', (name) => {
    const skipReason = options.apart ? whyNotApart(name) : whyNotEngine(name)
    const plugin = name === 'docker' ? docker : podman
    const meta = skipReason === null ? {} : { skipReason }
    describe('with an engine of our own', { skip: skipReason !== null, meta }, () => {
      let engine: TestEngine
      beforeAll(async () => {
        engine = await startEngine(name, options)
        await makeBase(engine.engine, more)
      })
      afterAll(() => engine.stop())
      const makeProvider = (options = {}) => {
        const all = { socket: engine.socket, base: baseImage, buildNetwork: 'none', ...options }
        return plugin.make(plugin.options.parse(all), { env: {}, stateDir })
      }
      suite({ name, started: () => engine, makeProvider })
    })
  })
}

/** The names of everything an engine holds that belongs to a sandbox. */
export async function everything({ engine }: TestEngine): Promise<string[]> {
  const filters = JSON.stringify({ label: [ownedLabel] })
  const get = async (path: string, query = {}) => (await engine.ask({ method: 'GET', path, query })).body
  const volumes = (await get('/volumes')) as { Volumes?: unknown }
  const lists = [
    await get('/containers/json', { all: true }),
    volumes.Volumes,
    await get('/images/json', { all: true, filters }),
    await get('/networks', { filters }),
  ]
  return lists.flatMap((list) =>
    Array.isArray(list) ? list.map((item) => JSON.stringify(item.Names ?? item.Name ?? item.RepoTags)) : [],
  )
}

/** Bundles test/fakes/hold-container.ts into one file for Node. */
export async function makeHoldProgram(dir: string): Promise<string> {
  const outfile = join(dir, 'hold-container.mjs')
  const js = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"
  const entryPoints = ['test/fakes/hold-container.ts']
  await build({ entryPoints, outfile, bundle: true, format: 'esm', platform: 'node', target: 'node20', banner: { js } })
  return outfile
}
