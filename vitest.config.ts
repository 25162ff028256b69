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

/** What a newcomer need not wait for: `npm run test:long` runs these. */
export const slow = [
  ...['apptainer', 'daytona', 'docker', 'e2b', 'modal', 'podman'].map((name) => `test/contracts/${name}.test.ts`),
  'test/live/ordinary-user.test.ts',
  ...[
    'ablate',
    'benchmark-guide',
    'benchmarks',
    'environment-agent',
    'eval-run',
    'external-agent',
    'generate',
    'host-variables',
    'hostile-input',
    'hub',
    'jobs-commands',
    'judge',
    'judge-in-recipes',
    'launch',
    'listen',
    'pin',
    'pipelines',
    'recipes',
    'registry',
    'replay',
    'rollouts',
    'run-model-options',
    'serve',
  ].map((name) => `test/e2e/${name}.test.ts`),
]

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
          exclude: [...common.test.exclude, 'test/long/**', 'test/soak/**', ...slow],
        },
      },
    ],
  },
})
