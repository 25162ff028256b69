import { BoundaryError } from '../../core/errors.ts'
import { brokenSystem } from '../../core/sandbox.ts'
import type { ImageKind } from './carry-rules.ts'
import type { Commands } from './commands.ts'
import { renderEntries } from './few-entries.ts'
import { asRoot } from './transfer.ts'

/** What a verifier gets fresh: paths where no file of the agent's can be. */
export const freshPaths: readonly string[] = ['/tests', '/logs/verifier']

const removal = `[ ! -e $d ] && [ ! -h $d ] || rm -rf $d`

/** Removes them, without starting a program where nothing exists. */
export const clearFresh = `for d in ${freshPaths.join(' ')}; do ${removal}; done`

/** Makes them empty. */
export const makeFresh = `for d in ${freshPaths.join(' ')}; do ${removal} || exit 1; done; mkdir -p -m 755 ${freshPaths.join(' ')} || exit 1`

/** Prints where they really are, one per line: the image's /logs may be a link, and what the agent left behind it must not come along. */
export const tellFresh = `for d in ${freshPaths.join(' ')}; do (cd -P $d && pwd -P) || exit 1; done`

/** Makes the log directories, whatever is in their place. */
export const makeLogs =
  'for d in /logs/agent /logs/verifier /logs/artifacts; do [ -d $d ] && [ ! -h $d ] || { rm -rf $d; mkdir -p $d; }; chmod 777 $d || exit 1; done'

/** Fails where a link leads fresh directories elsewhere: they would hide what is there. */
export const areNoLinks =
  'for d in /tests /logs /logs/verifier; do [ ! -h $d ] || { echo "$d is a link" >&2; exit 3; }; done'

const addHosts =
  'n="\n"; k=$n; while IFS= read -r l; do k="$k$l$n"; done < /etc/hosts; for l do case $k in *"$n$l$n"*) ;; *) printf "%s\\n" "$l" >> /etc/hosts;; esac; done'
const tellKinds =
  'for p do if [ -h "$p" ]; then printf o; elif [ -d "$p" ]; then printf d; elif [ -e "$p" ]; then printf o; else printf n; fi; done'
const kinds: Readonly<Record<string, ImageKind>> = { d: 'dir', o: 'other' }

/** The exit code of a killed command. */
const killed = 137
/** The size limit of a command line. */
const batchBytes = 64 * 1024

/** Our own work on the files of a container that has just started, before anyone else's. */
export class FreshFiles {
  constructor(private readonly commands: Commands) {}

  /** Prepares directories and returns what the script printed; `hosts` are lines that /etc/hosts must have. */
  async prepare(script: string, hosts: readonly string[] = []): Promise<string> {
    const all = hosts.length > 0 ? `${script}; ${addHosts}` : script
    const make = () => this.commands.exec(['/bin/sh', '-c', all, 'sh', ...hosts], asRoot)
    const first = await make()
    // The image's entrypoint may kill every other process when it starts.
    const made = first.exitCode === killed ? await make() : first
    if (made.exitCode !== 0)
      throw new BoundaryError(
        'sandbox',
        `cannot prepare /tests and /logs in the container: ${made.stderr.trim().slice(0, 300)}`,
      )
    return made.stdout
  }

  /** What exists at some paths. A link counts as itself, not as its target. */
  async lookAt(paths: readonly string[]): Promise<readonly ImageKind[]> {
    const found: ImageKind[] = []
    for (const batch of batches(paths)) {
      const { stdout } = await this.commands.exec(['/bin/sh', '-c', tellKinds, 'sh', ...batch], asRoot)
      if (stdout.length !== batch.length) throw new BoundaryError('sandbox', 'cannot read files of the image')
      found.push(...[...stdout].map((letter) => kinds[letter] ?? 'nothing'))
    }
    return found
  }

  /** Unpacks an archive if it is small and plain; false otherwise. */
  async unpackFew(archive: Uint8Array): Promise<boolean> {
    const script = await renderEntries(archive)
    return script !== null && (await this.commands.exec(['/bin/sh', '-c', script], asRoot)).exitCode === 0
  }

  async remove(paths: readonly string[]): Promise<void> {
    for (const batch of batches(paths)) await this.commands.exec(['rm', '-rf', '--', ...batch], asRoot)
  }
}

/** Turns a failure to prepare the files into the failure of a system that the agent left broken. */
export function doesNotRun(error: unknown): unknown {
  if (!(error instanceof BoundaryError) || error.code === 'EngineUnreachableError') return error
  const what = 'no shell runs on the system as the agent left it'
  return new BoundaryError('sandbox', what, { code: brokenSystem, retryable: false, cause: error })
}

function* batches(paths: readonly string[]): Generator<string[], void, void> {
  let batch: string[] = []
  let size = 0
  for (const path of paths) {
    if (size > batchBytes) {
      yield batch
      batch = []
      size = 0
    }
    batch.push(path)
    size += Buffer.byteLength(path) + 8
  }
  if (batch.length > 0) yield batch
}
