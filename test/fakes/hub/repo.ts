import { createHash, randomUUID } from 'node:crypto'

/** The content of a file: small files are in git, large ones in the storage next to it. */
export interface StoredFile {
  readonly data: Buffer
  /** Git's digest of the content, or of the pointer to it. */
  readonly oid: string
  /** SHA-256 of a large file. */
  readonly lfs: string | null
}

export interface StoredCommit {
  readonly sha: string
  readonly parent: string | null
  readonly title: string
  readonly files: ReadonlyMap<string, StoredFile>
}

/** A dataset of the stand-in: a sequence of commits, branches, and the large files uploaded to it. */
export class StoredRepo {
  readonly commits: StoredCommit[] = []
  readonly branches = new Map<string, string>()
  /** Large files by digest; kept even if no commit refers to them. */
  readonly objects = new Map<string, Buffer>()

  constructor(
    readonly name: string,
    readonly isPrivate: boolean,
  ) {
    const attributes = '*.parquet filter=lfs diff=lfs merge=lfs -text\n'
    this.add('main', 'initial commit', new Map([['.gitattributes', gitFile(Buffer.from(attributes))]]))
  }

  commit(revision: string): StoredCommit | undefined {
    const sha = this.branches.get(revision === 'HEAD' ? 'main' : revision) ?? revision
    return this.commits.find((commit) => commit.sha === sha)
  }

  add(branch: string, title: string, files: ReadonlyMap<string, StoredFile>): StoredCommit {
    const sha = createHash('sha1').update(`${this.name} ${this.commits.length} ${randomUUID()}`).digest('hex')
    const commit = { sha, parent: this.branches.get(branch) ?? null, title, files }
    this.commits.push(commit)
    this.branches.set(branch, sha)
    return commit
  }

  /** The commits of a branch, newest first. */
  history(branch: string): StoredCommit[] {
    const found: StoredCommit[] = []
    for (let at = this.commit(branch); at; at = at.parent === null ? undefined : this.commit(at.parent)) found.push(at)
    return found
  }

  /** Replaces a branch's commits with a single one; commits on no other branch disappear. */
  squash(branch: string, title: string): StoredCommit {
    const files = this.commit(branch)?.files ?? new Map()
    this.branches.delete(branch)
    const squashed = this.add(branch, title, files)
    const kept = new Set([...this.branches.keys()].flatMap((name) => this.history(name)))
    this.commits.splice(0, this.commits.length, ...this.commits.filter((commit) => kept.has(commit)))
    return squashed
  }

  /** A commit by another user. */
  put(path: string, text: string, branch = 'main'): void {
    const files = new Map(this.commit(branch)?.files ?? [])
    this.add(branch, `put ${path}`, files.set(path, gitFile(Buffer.from(text))))
  }
}

export function gitFile(data: Buffer): StoredFile {
  return { data, oid: gitOid(data), lfs: null }
}

export function lfsFile(data: Buffer, sha256: string): StoredFile {
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${sha256}\nsize ${data.length}\n`
  return { data, oid: gitOid(Buffer.from(pointer)), lfs: sha256 }
}

function gitOid(data: Buffer): string {
  return createHash('sha1').update(`blob ${data.length}\0`).update(data).digest('hex')
}
