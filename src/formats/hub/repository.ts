/** A file of a dataset repository. Its path is untrusted until it was checked. */
export interface RepoFile {
  readonly path: string
  readonly sizeBytes: number
  /** SHA-256 of a large file, hex; null for one that git holds itself. */
  readonly sha256: string | null
  /** Git's own digest of a small file, hex. */
  readonly gitOid: string | null
}

/** Changes that go in at once. */
export interface RepoCommit {
  readonly message: string
  /** The revision these changes were planned on; anything else there is a CommitConflict. */
  readonly parent: string
  readonly add: readonly { readonly path: string; readonly file: string }[]
  readonly remove: readonly string[]
  /** Which file how far, from 0 to 1. */
  readonly onProgress?: (path: string, share: number) => void
}

export type RepoType = 'dataset' | 'model'

/** A dataset, or a model, as a tree of files with revisions: on the Hub, or in a folder. */
export interface DatasetRepository {
  /** `org/name`, or `file:PATH`. */
  readonly name: string
  readonly type: RepoType
  /** The commit a branch, tag or commit stands for (default: the main branch); null when there is no such dataset. */
  head(revision: string | null): Promise<string | null>
  list(commit: string): Promise<readonly RepoFile[]>
  /** The bytes of a file from a point on; a server that cannot skip says so with `fromByte: 0`. */
  read(
    commit: string,
    path: string,
    fromByte: number,
  ): Promise<{ readonly fromByte: number; readonly body: AsyncIterable<Uint8Array> }>
  /** Makes it where it is missing; an existing one keeps its visibility. */
  create(isPrivate: boolean): Promise<void>
  /** Gives the new commit and where to look at it. */
  commit(branch: string, changes: RepoCommit): Promise<{ readonly commit: string; readonly url: string }>
}
