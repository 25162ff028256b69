/**
 * Harbor opens a config only if it knows the environment's type. Ours that it does not know are written as an import path,
 * which it takes without a look.
 */
const harborTypes: ReadonlySet<string> = new Set([
  'docker',
  'daytona',
  'e2b',
  'modal',
  'runloop',
  'gke',
  'apple-container',
  'singularity',
  'islo',
  'tensorlake',
])

const prefix = 'ot-agent:'

export interface EnvironmentName {
  readonly type: string | null
  readonly importPath: string | null
}

/** How Harbor's files name a sandbox of ours; neither given means docker, as there. */
export function toHarborEnvironment({ type, importPath }: EnvironmentName): EnvironmentName {
  if (type === null) return { type: importPath === null ? 'docker' : null, importPath }
  return harborTypes.has(type) ? { type, importPath } : { type: null, importPath: prefix + type }
}

/** The way back. */
export function fromHarborEnvironment({ type, importPath }: EnvironmentName): EnvironmentName {
  if (type !== null || !importPath?.startsWith(prefix)) return { type, importPath }
  return { type: importPath.slice(prefix.length), importPath: null }
}
