import { composeTask, environmentDigest } from '../data/terminal-composer/compose/compose-task.ts'

const count = 2000
const goalPerSec = 200

/** How fast terminal tasks are composed, digests included; nothing is written to disk. */
export default {
  name: 'composer',
  async run() {
    composeTask({ seed: 0, index: 0 })
    const start = performance.now()
    let bytes = 0
    for (let index = 0; index < count; index++) {
      const { files } = composeTask({ seed: 1, index })
      environmentDigest(files)
      for (const { data } of Object.values(files)) bytes += data.length
    }
    const sec = (performance.now() - start) / 1000
    const rate = count / sec
    return [
      { name: `tasks composed, ${count}`, value: rate, unit: 'tasks/s', goal: goalPerSec, ok: rate >= goalPerSec },
      { name: 'mean size of a task', value: bytes / count / 1024, unit: 'KiB' },
    ]
  },
}
