import { defineConfig } from 'vitest/config'
import { common } from './vitest.config.ts'
import { long } from './vitest.long.config.ts'

/** What takes many minutes: agents that bring half a gigabyte along. */
export default defineConfig({
  ...common,
  test: {
    ...long,
    globalSetup: ['test/global-setup.ts'],
    include: ['test/soak/**/*.test.ts'],
    testTimeout: 30 * 60_000,
    fileParallelism: false,
  },
})
