import { defineConfig } from 'vitest/config'
import base from './vitest.config.ts'

/** Crash tests and other slow ones: one file at a time, so that they measure and kill only themselves. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ['test/long/**/*.test.ts'],
    exclude: ['node_modules/**'],
    testTimeout: 15 * 60_000,
    hookTimeout: 5 * 60_000,
    fileParallelism: false,
  },
})
