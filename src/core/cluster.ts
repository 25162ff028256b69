/** How a cluster wants GPUs to be requested. `none`: a node comes with all its GPUs. */
export type GpuRequest = 'gres' | 'gpus-per-node' | 'none'

/** Facts about a cluster. No code branches on its name: whatever differs about one is a field here. */
export interface Cluster {
  readonly name: string
  readonly summary: string
  /**
   * `slurm`; `skypilot`: clouds and Kubernetes; `local`: no scheduler, scripts run one after another on this machine;
   * or the module of a user's scheduler.
   */
  readonly scheduler: string
  /** Patterns of the full host names of its login nodes. */
  readonly hosts: readonly string[]
  /** Variables that are set to these values on its login nodes only. */
  readonly hostVariables: Readonly<Record<string, string>>
  readonly account?: string | undefined
  /** The cluster refuses jobs without an account, so a launch has to name one. */
  readonly accountRequired?: boolean | undefined
  readonly partition?: string | undefined
  readonly qos?: string | undefined
  readonly constraint?: string | undefined
  readonly nodes: number
  readonly gpusPerNode: number
  readonly gpuType?: string | undefined
  readonly gpuRequest: GpuRequest
  readonly cpusPerNode: number
  readonly memoryPerNodeGb?: number | undefined
  /** The cluster allocates whole nodes and refuses requests for part of a node's memory or processors. */
  readonly wholeNodes: boolean
  readonly internetOnComputeNodes: boolean
  /** Job variables that let compute nodes without internet reach what they need. */
  readonly proxy: Readonly<Record<string, string>>
  /** A machine with internet that compute nodes without it reach over SSH. */
  readonly sshTunnel?: SshTunnel | undefined
  /** Limits for Ray when it runs across several nodes. */
  readonly ray?: RayLimits | undefined
  /** Lines such as `module load cuda/12.8`, in order. */
  readonly modules: readonly string[]
  readonly containerRuntime: 'apptainer' | 'singularity' | 'none'
  readonly excludeNodes: readonly string[]
  readonly timeLimit: string
  readonly maxTimeLimit?: string | undefined
  /** May contain job variables, as in `$SCRATCH/models`. */
  readonly directories: ClusterDirectories
  /** Where CPU-only jobs go, if not to the partition above. */
  readonly cpuJobs?: Pick<Cluster, 'partition' | 'qos' | 'account'> | undefined
  /** Where jobs that need the internet go, if compute nodes have none. */
  readonly internetJobs?: Pick<Cluster, 'partition' | 'qos' | 'account'> | undefined
  /** Extra `#SBATCH` directives for every job, without the `#SBATCH`. */
  readonly extraDirectives: readonly string[]
  /** What to request from SkyPilot besides what the job needs, in SkyPilot's own terms. */
  readonly sky?: SkySettings | undefined
  /** Set in every job. */
  readonly environment: Readonly<Record<string, string>>
  /** Shell lines that set up the Python of training and serving jobs. */
  readonly activate: readonly string[]
}

/**
 * How a job reaches the internet: through a proxy that the other machine can reach, or with that machine as the proxy.
 */
export interface SshTunnel {
  /** `login01`, or `me@login01`. */
  readonly host: string
  readonly port?: number | undefined
  /** A private key without a passphrase. */
  readonly identity?: string | undefined
  /** `proxy.example.org:3128`, an HTTP proxy as the other machine reaches it. */
  readonly forward?: string | undefined
}

/** What Ray may use on a node. */
export interface RayLimits {
  /** On each node; Ray keeps sockets there, whose paths must be short. */
  readonly tempDir?: string | undefined
  readonly objectStoreGb?: number | undefined
  readonly memoryGb?: number | undefined
}

/**
 * Parts of a SkyPilot task. The experiments directory has to be a mount or volume that this machine sees at the same
 * path.
 */
export interface SkySettings {
  readonly resources?: Readonly<Record<string, unknown>> | undefined
  readonly fileMounts?: Readonly<Record<string, unknown>> | undefined
  readonly volumes?: Readonly<Record<string, unknown>> | undefined
  readonly setup?: string | undefined
}

export interface ClusterDirectories {
  readonly scratch?: string | undefined
  readonly models?: string | undefined
  readonly datasets?: string | undefined
  readonly checkpoints?: string | undefined
  readonly tokenized?: string | undefined
}
