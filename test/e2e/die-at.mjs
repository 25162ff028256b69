// Loaded before a command: kills the process with SIGKILL when it is about to rename a file to a name that ends with
// DIE_AT.
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const end = process.env.DIE_AT
const dying =
  (rename) =>
  (from, to, ...rest) => {
    if (String(to).endsWith(end)) process.kill(process.pid, 'SIGKILL')
    return rename(from, to, ...rest)
  }
fs.renameSync = dying(fs.renameSync)
fs.rename = dying(fs.rename)
fs.promises.rename = dying(fs.promises.rename)
syncBuiltinESMExports()
