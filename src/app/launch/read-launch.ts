import { readFile } from 'node:fs/promises'
import type { Cluster } from '../../core/cluster.ts'
import { UserError } from '../../core/errors.ts'
import { readDocument } from '../../formats/harbor-job/read-document.ts'
import { orUserError } from '../../formats/harbor-task/read.ts'
import { type SettingLayer, Settings } from '../../run/launch/settings.ts'
import { chooseCluster } from './clusters.ts'
import { clusterSettings } from './make-launch.ts'
import { camelOf, settingSpecs } from './schema.ts'

/** A launch's inputs: the request, its file, its cluster, and defaults. */
export interface ReadLaunch {
  readonly settings: Settings
  readonly cluster: Cluster
}

const nameOf = new Map(settingSpecs.map(({ name }) => [camelOf(name), name]))

/** Combines a request with its file and cluster. `origin` describes the request's values in messages. */
export async function readLaunch(request: Readonly<Record<string, unknown>>, origin = 'request'): Promise<ReadLaunch> {
  const entries = Object.entries(request).map(([key, value]) => [nameOf.get(key) ?? key, value] as const)
  const asked: SettingLayer = { origin, values: Object.fromEntries(entries) }
  const path = asked.values.config
  const file = typeof path === 'string' ? [await readSettings(path)] : []
  const early = new Settings(settingSpecs, [...file, asked])
  const { cluster } = await chooseCluster(early.text('cluster') ?? early.text('name'))
  const place: SettingLayer = { origin: `cluster ${cluster.name}`, values: clusterSettings(cluster) }
  return { settings: new Settings(settingSpecs, [place, ...file, asked]), cluster }
}

/** Reads a file of settings, spelled like the flags. */
async function readSettings(path: string): Promise<SettingLayer> {
  const text = await orUserError(path, () => readFile(path, 'utf8'))
  const document = readDocument(text, path, path.endsWith('.json') ? 'json' : 'yaml')
  if (typeof document === 'object' && document !== null && !Array.isArray(document))
    return { origin: `file ${path}`, values: { ...document } }
  throw new UserError(`${path}: expected settings, one name and value per line`, 'for example job_type: datagen')
}
