// Uploads a folder of tasks to a stand-in for the Hub, lets a program judge it, then downloads what that program
// uploaded.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { withDataset } from '../../../src/app/hub/prepare.ts'
import { downloadSnapshot, openSnapshot } from '../../../src/formats/hub/download.ts'
import { openRepository } from '../../../src/formats/hub/open.ts'
import { uploadFolder } from '../../../src/formats/hub/upload.ts'
import { HubStandIn } from '../../fakes/hub/server.ts'

const [folder, scratch, program, ...words] = process.argv.slice(2)
if (folder === undefined || scratch === undefined || program === undefined)
  throw new Error('usage: serve-hub FOLDER SCRATCH PROGRAM [WORDS]')
const hub = await HubStandIn.start()
const { signal } = new AbortController()
const open = (name: string) => openRepository(name, { env: hub.env, signal })
const done = await withDataset(folder, { packed: true, signal }, (ready) =>
  uploadFolder({
    ...{ repository: open('me/tasks'), ...ready, message: 'for others to read', branch: 'main' },
    ...{ replace: false, isPrivate: true, madeBy: 'ot-agent' },
  }),
)
const env = { ...process.env, ...hub.env, HF_HOME: join(scratch, 'hf-home'), HF_HUB_DISABLE_XET: '1' }
const child = spawn(program, [...words, String(done.rows), scratch], { env, stdio: 'inherit' })
const [code] = await once(child, 'close')
let faults = Number(code)
if (faults === 0) {
  const out = join(scratch, 'theirs-here')
  await downloadSnapshot(await openSnapshot(open('me/theirs'), null), out, { limitBytes: 1e8, signal })
  for (const name of ['small.txt', 'large.parquet'])
    if (!(await readFile(join(out, name))).equals(await readFile(join(scratch, 'theirs', name)))) {
      console.log(`${name}: what they uploaded is not what we downloaded`)
      faults++
    }
}
hub.close()
process.exit(faults)
