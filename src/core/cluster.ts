/** How a cluster wants to be asked for GPUs. `none`: a node comes with all it has. */
export type GpuRequest = 'gres' | 'gpus-per-node' | 'none'

/** Facts about a machine room. No code branches on its name: what is different about a cluster is a field here. */
export interface Cluster {
  readonly name: string
  readonly summary: string
  /** `slurm`; `local`: no scheduler, scripts are run one after the other on this machine; or the module of a user's scheduler. */
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
  /** Set in every job. */
  readonly environment: Readonly<Record<string, string>>
  /** Shell lines that make the Python of training and serving jobs ready. */
  readonly activate: readonly string[]
}

export interface ClusterDirectories {
  readonly scratch?: string | undefined
  readonly models?: string | undefined
  readonly datasets?: string | undefined
  readonly checkpoints?: string | undefined
  readonly tokenized?: string | undefined
}
