import { readFile } from 'node:fs/promises'
import type { Cluster } from '../../core/cluster.ts'
import { UserError } from '../../core/errors.ts'
import { readDocument } from '../../formats/harbor-job/read-document.ts'
import { orUserError } from '../../formats/harbor-task/read.ts'
import { type SettingLayer, Settings } from '../../run/launch/settings.ts'
import { chooseCluster } from './clusters.ts'
import { clusterSettings } from './make-launch.ts'
import { camelOf, settingSpecs } from './schema.ts'

/** What a launch is told: by the request, by its file, by the cluster, and by defaults. */
export interface ReadLaunch {
  readonly settings: Settings
  readonly cluster: Cluster
}

const nameOf = new Map(settingSpecs.map(({ name }) => [camelOf(name), name]))

/** Joins a request with the file that it names and with its cluster. `origin` is what messages call values of the request. */
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

/** A file of settings, spelt like the flags. */
async function readSettings(path: string): Promise<SettingLayer> {
  const text = await orUserError(path, () => readFile(path, 'utf8'))
  const document = readDocument(text, path, path.endsWith('.json') ? 'json' : 'yaml')
  if (typeof document === 'object' && document !== null && !Array.isArray(document))
    return { origin: `file ${path}`, values: { ...document } }
  throw new UserError(`${path}: expected settings, one name and value per line`, 'for example job_type: datagen')
}
