/** How a cluster wants to be asked for GPUs. `none`: a node comes with all it has. */
export type GpuRequest = 'gres' | 'gpus-per-node' | 'none'

/** Facts about a machine room. No code branches on its name: what is different about a cluster is a field here. */
export interface Cluster {
  readonly name: string
  readonly summary: string
  /** `slurm`; `skypilot`: clouds and Kubernetes; `local`: no scheduler, scripts are run one after the other on this machine; or the module of a user's scheduler. */
  readonly scheduler: string
  /** Patterns of the full host names of its login nodes. */
  readonly hosts: readonly string[]
  /** Variables that are set to these values on its login nodes only. */
  readonly hostVariables: Readonly<Record<string, string>>
  readonly account?: string | undefined
  /** Jobs without an account are refused there, so a launch has to name one. */
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
  /** Nodes are given whole: asking for a part of the memory or the processors is refused there. */
  readonly wholeNodes: boolean
  readonly internetOnComputeNodes: boolean
  /** How compute nodes without internet reach what they must, as variables of the job. */
  readonly proxy: Readonly<Record<string, string>>
  /** A machine with internet that compute nodes without it reach by SSH. */
  readonly sshTunnel?: SshTunnel | undefined
  /** Limits of Ray where it runs over several nodes. */
  readonly ray?: RayLimits | undefined
  /** Lines such as `module load cuda/12.8`, in order. */
  readonly modules: readonly string[]
  readonly containerRuntime: 'apptainer' | 'singularity' | 'none'
  readonly excludeNodes: readonly string[]
  readonly timeLimit: string
  readonly maxTimeLimit?: string | undefined
  /** May hold variables of the job, `$SCRATCH/models`. */
  readonly directories: ClusterDirectories
  /** Where a job that only needs processors goes, when that is not the partition above. */
  readonly cpuJobs?: Pick<Cluster, 'partition' | 'qos' | 'account'> | undefined
  /** Where a job that needs the internet goes, when compute nodes have none. */
  readonly internetJobs?: Pick<Cluster, 'partition' | 'qos' | 'account'> | undefined
  /** More `#SBATCH` lines every job there needs, without the `#SBATCH`. */
  readonly extraDirectives: readonly string[]
  /** What SkyPilot is asked for beside what the job needs, in its own words. */
  readonly sky?: SkySettings | undefined
  /** Set in every job. */
  readonly environment: Readonly<Record<string, string>>
  /** Shell lines that make the Python of training and serving jobs ready. */
  readonly activate: readonly string[]
}

/** How a job gets out: to a proxy that the other machine reaches, or with that machine as the proxy. */
export interface SshTunnel {
  /** `login01`, or `me@login01`. */
  readonly host: string
  readonly port?: number | undefined
  /** A private key without a passphrase. */
  readonly identity?: string | undefined
  /** `proxy.example.org:3128`, an HTTP proxy as the other machine reaches it. */
  readonly forward?: string | undefined
}

/** What Ray may take of a node. */
export interface RayLimits {
  /** On each node; Ray keeps sockets there, whose paths must be short. */
  readonly tempDir?: string | undefined
  readonly objectStoreGb?: number | undefined
  readonly memoryGb?: number | undefined
}

/** Parts of a SkyPilot task. The directory of experiments has to be a mount or a volume that this machine sees at the same path. */
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
