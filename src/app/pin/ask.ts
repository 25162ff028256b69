import type { SandboxLease, SandboxProvider } from '../../core/sandbox.ts'
import type { Found, Question } from '../../formats/dockerfile/pins/find.ts'
import type { Known } from '../../formats/dockerfile/pins/pin.ts'
import { parseVersions, type Versions } from '../../formats/dockerfile/pins/versions.ts'

/** Asks a task's sandbox what is installed in it, and its provider which images it knows. */
export async function askSandbox(
  { pinnable }: Found,
  lease: SandboxLease,
  provider: SandboxProvider,
  signal: AbortSignal,
): Promise<Known> {
  const answers = new Map<string, Versions | null>()
  const digests = new Map<string, string | null>()
  for (const { name, question } of pinnable) {
    if (question === null) digests.set(name, (await provider.imageDigest?.(name)) ?? null)
    else if (!answers.has(keyOf(question))) answers.set(keyOf(question), await ask(lease, question, signal))
  }
  return {
    versions: (question) => answers.get(keyOf(question)) ?? null,
    digest: (image) => digests.get(image) ?? null,
  }
}

function keyOf(question: Question): string {
  return JSON.stringify(question)
}

const answerLimitBytes = 16 << 20
const answerLimitSec = 120
/** Runs its remaining arguments as if the first one were not on PATH yet. */
// biome-ignore lint/suspicious/noTemplateCurlyInString: a shell's, not ours
const withEarlierPath = 'PATH=${PATH#"$1"}; shift; exec "$@"'

async function ask(lease: SandboxLease, question: Question, signal: AbortSignal): Promise<Versions | null> {
  const { manager, argv, user, dropPath } = question
  const asked = dropPath === '' ? argv : ['sh', '-c', withEarlierPath, 'sh', dropPath, ...argv]
  const { exitCode, stdout, timedOut, truncated } = await lease.exec(asked, {
    cwd: '/',
    timeoutSec: answerLimitSec,
    outputLimitBytes: answerLimitBytes,
    signal,
    ...(user !== null && { user }),
  })
  // npm lists everything and still fails if a package is missing a dependency.
  const isWhole = !timedOut && !truncated && (exitCode === 0 || (manager === 'npm' && exitCode === 1))
  return isWhole ? parseVersions(manager, stdout) : null
}
