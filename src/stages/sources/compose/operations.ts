import { configOperations } from './files/config-files.ts'
import { treeOperations } from './files/file-trees.ts'
import { scriptOperations } from './files/scripts.ts'
import { textOperations } from './files/text-files.ts'
import { tableOperations } from './tables/compose-table.ts'
import type { Operation } from './work.ts'

/** Every operation of the sampler. */
export const operations: readonly Operation[] = [
  ...tableOperations,
  ...treeOperations,
  ...configOperations,
  ...textOperations,
  ...scriptOperations,
]
