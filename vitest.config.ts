import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  // What pipelines under data/ import is what is tested, not what was built.
  resolve: { alias: { 'ot-agent': fileURLToPath(new URL('src/index.ts', import.meta.url)) } },
  test: {
    include: ['src/**/*.test.ts', 'data/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: ['test/long/**', 'test/soak/**', 'node_modules/**'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    globalSetup: ['test/global-setup.ts'],
    setupFiles: ['test/setup.ts'],
  },
})
