import { defineConfig } from 'vitest/config'
import long from './vitest.long.config.ts'

/** What takes many minutes: agents that bring half a gigabyte along. */
export default defineConfig({
  ...long,
  test: { ...long.test, include: ['test/soak/**/*.test.ts'], testTimeout: 30 * 60_000 },
})
