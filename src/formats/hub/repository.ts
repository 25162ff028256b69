/** A file of a dataset repository. Its path is untrusted until checked. */
export interface RepoFile {
  readonly path: string
  readonly sizeBytes: number
  /** The SHA-256 of a large file, in hex; null for one stored in git itself. */
  readonly sha256: string | null
  /** Git's own digest of a small file, in hex. */
  readonly gitOid: string | null
}

/** Changes that are committed together. */
export interface RepoCommit {
  readonly message: string
  /** The revision these changes are based on; if the branch has moved, there is a CommitConflict. */
  readonly parent: string
  readonly add: readonly { readonly path: string; readonly file: string }[]
  readonly remove: readonly string[]
  /** Reports a file's progress from 0 to 1. */
  readonly onProgress?: (path: string, share: number) => void
}

export type RepoType = 'dataset' | 'model'

/** A dataset or model as a tree of files with revisions, on the Hub or in a folder. */
export interface DatasetRepository {
  /** `org/name`, or `file:PATH`. */
  readonly name: string
  readonly type: RepoType
  /** Resolves a branch, tag or commit to a commit (default: the main branch); null if the dataset does not exist. */
  head(revision: string | null): Promise<string | null>
  list(commit: string): Promise<readonly RepoFile[]>
  /** Reads a file from an offset; a server that cannot skip returns `fromByte: 0`. */
  read(
    commit: string,
    path: string,
    fromByte: number,
  ): Promise<{ readonly fromByte: number; readonly body: AsyncIterable<Uint8Array> }>
  /** Creates it if it is missing; an existing one keeps its visibility. */
  create(isPrivate: boolean): Promise<void>
  /** Returns the new commit and its URL. */
  commit(branch: string, changes: RepoCommit): Promise<{ readonly commit: string; readonly url: string }>
}
