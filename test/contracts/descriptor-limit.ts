import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { spawnProcess } from '../../src/lib/spawn-process.ts'

/**
 * Changes this process's limit on descriptors; a helper process does it, because none could be started at the limit.
 */
export async function holdDescriptorLimit() {
  const script = `while read -r limit; do prlimit --pid ${process.pid} --nofile="$limit:"; echo done; done`
  const child = await spawnProcess('sh', ['-c', script], { stdio: ['pipe', 'pipe', 'ignore'] })
  const [, before = ''] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
  const set = async (limit: number) => {
    const done = once(child.stdout ?? child, 'data')
    child.stdin?.write(`${limit}\n`)
    await done
  }
  return { before: Number(before), set, [Symbol.dispose]: () => void child.kill('SIGKILL') }
}
