/** Where a Weights & Biases run can be viewed, or its folder until it is synced. */
export interface WandbRun {
  readonly link: string | null
  readonly offlineDir: string | null
}

/** A folder in which the Weights & Biases client records a run: `run-20261117_093000-ID`, or `offline-run-...`. */
export interface WandbFolder {
  /** Sorts by time. */
  readonly stamp: string
  readonly id: string
  readonly isOffline: boolean
}

/** Parses the name of such a folder; null for others. */
export function parseWandbFolder(name: string): WandbFolder | null {
  const [, offline, stamp, id] = /^(offline-)?run-(\d{8}_\d{6})-([\w-]{1,128})$/.exec(name) ?? []
  return stamp === undefined || id === undefined ? null : { stamp, id, isOffline: offline !== undefined }
}

/** The URL of a run; null without the entity, which only the service knows if it is not given. */
export function wandbLink(id: string, project: string, env: Readonly<Record<string, string | undefined>>) {
  const entity = env.WANDB_ENTITY?.trim()
  if (!entity) return null
  const given = env.WANDB_BASE_URL?.trim()
  const base = given && URL.canParse(given) ? new URL(given) : new URL('https://api.wandb.ai')
  // The service has separate hosts for its API and its pages; a self-hosted server uses one for both.
  const origin = base.hostname === 'api.wandb.ai' ? 'https://wandb.ai' : base.origin
  return `${origin}/${[entity, project, 'runs', id].map(encodeURIComponent).join('/')}`
}
