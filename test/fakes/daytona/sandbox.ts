import type { OwnedMachine } from '../../../src/sandboxes/local/workshop.ts'

/** A client's request to create a sandbox. */
export interface CreateRequest {
  readonly name?: string
  readonly snapshot?: string
  readonly labels?: Record<string, string>
  readonly user?: string
  readonly networkBlockAll?: boolean
  readonly networkAllowList?: string
  readonly domainAllowList?: string
  readonly autoStopInterval?: number
  readonly autoDeleteInterval?: number
  readonly ttlMinutes?: number
}

export type State = 'creating' | 'started' | 'stopping' | 'stopped' | 'starting' | 'destroying' | 'error'

/** One of the stand-in's sandboxes: a real machine, and what the account knows about it. */
export class FakeSandbox {
  state: State = 'creating'
  machine: OwnedMachine | null = null
  network: Pick<CreateRequest, 'networkBlockAll' | 'networkAllowList' | 'domainAllowList'>
  errorReason: string | undefined
  readonly createdMin: number
  activeMin: number
  stoppedMin = 0

  constructor(
    readonly id: string,
    readonly request: CreateRequest,
    readonly toolboxProxyUrl: string,
    nowMin: number,
  ) {
    const { networkBlockAll, networkAllowList, domainAllowList } = request
    this.network = {
      ...(networkBlockAll !== undefined && { networkBlockAll }),
      ...(networkAllowList !== undefined && { networkAllowList }),
      ...(domainAllowList !== undefined && { domainAllowList }),
    }
    this.createdMin = nowMin
    this.activeMin = nowMin
  }

  get name(): string {
    return this.request.name ?? this.id
  }

  /** As the account shows it. */
  render(): object {
    const { labels = {}, snapshot, user = 'daytona', autoStopInterval, autoDeleteInterval } = this.request
    return {
      id: this.id,
      name: this.name,
      organizationId: 'org',
      snapshot,
      user,
      env: {},
      labels,
      public: false,
      target: 'here',
      cpu: 1,
      gpu: 0,
      memory: 1,
      disk: 3,
      state: this.state,
      errorReason: this.errorReason,
      autoStopInterval,
      autoDeleteInterval,
      toolboxProxyUrl: this.toolboxProxyUrl,
      ...this.network,
    }
  }
}
