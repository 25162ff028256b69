import { checksumOperations } from './files/checksums.ts'
import { configOperations } from './files/config-files.ts'
import { encodingOperations } from './files/encodings.ts'
import { treeOperations } from './files/file-trees.ts'
import { linkOperations } from './files/links.ts'
import { permissionOperations } from './files/permissions.ts'
import { scriptOperations } from './files/scripts.ts'
import { textOperations } from './files/text-files.ts'
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
]
