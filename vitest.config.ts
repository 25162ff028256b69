import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** What every suite shares. */
export const common = {
  // What pipelines under data/ import is what is tested, not what was built.
  resolve: { alias: { 'ot-agent': fileURLToPath(new URL('src/index.ts', import.meta.url)) } },
  test: {
    exclude: ['node_modules/**'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // One more than the cores of a small machine: tests often wait for a process.
    maxWorkers: 3,
    setupFiles: ['test/setup.ts'],
  },
}

export default defineConfig({
  test: {
    globalSetup: ['test/global-setup.ts'],
    projects: [
      {
        ...common,
        // Files of one worker share their modules, which halves the processor time of these small tests.
        test: { ...common.test, name: 'unit', include: ['src/**/*.test.ts', 'data/**/*.test.ts'], isolate: false },
      },
      {
        ...common,
        test: {
          ...common.test,
          name: 'whole',
          include: ['test/**/*.test.ts'],
          exclude: [...common.test.exclude, 'test/long/**', 'test/soak/**'],
        },
      },
    ],
  },
})
