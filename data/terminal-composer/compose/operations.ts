import { checksumOperations } from './files/checksums.ts'
import { configOperations } from './files/config-files.ts'
import { encodingOperations } from './files/encodings.ts'
import { treeOperations } from './files/file-trees.ts'
import { linkOperations } from './files/links.ts'
import { permissionOperations } from './files/permissions.ts'
import { scriptOperations } from './files/scripts.ts'
import { textOperations } from './files/text-files.ts'
import { accountOperations } from './systems/accounts.ts'
import { buildOperations } from './systems/builds.ts'
import { cOperations } from './systems/c-programs.ts'
import { controlOperations } from './systems/control.ts'
import { gitOperations } from './systems/git.ts'
import { harvestOperations } from './systems/harvest.ts'
import { httpOperations } from './systems/http.ts'
import { logOperations } from './systems/logs.ts'
import { migrationOperations } from './systems/migrations.ts'
import { processTreeOperations } from './systems/process-tree.ts'
import { queueOperations } from './systems/queues.ts'
import { scheduleOperations } from './systems/schedules.ts'
import { socketOperations } from './systems/sockets.ts'
import { sqliteOperations } from './systems/sqlite.ts'
import { storeOperations } from './systems/stores.ts'
import { tableOperations } from './tables/compose-table.ts'
import type { Operation } from './work.ts'

/** Every operation of the sampler. */
export const operations: readonly Operation[] = [
  ...tableOperations,
  ...treeOperations,
  ...permissionOperations,
  ...linkOperations,
  ...configOperations,
  ...textOperations,
  ...encodingOperations,
  ...checksumOperations,
  ...scriptOperations,
  ...httpOperations,
  ...harvestOperations,
  ...socketOperations,
  ...controlOperations,
  ...processTreeOperations,
  ...queueOperations,
  ...storeOperations,
  ...scheduleOperations,
  ...buildOperations,
  ...migrationOperations,
  ...logOperations,
  ...accountOperations,
  ...gitOperations,
  ...sqliteOperations,
  ...cOperations,
]
