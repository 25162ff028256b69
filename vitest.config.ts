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
  'test/contracts/local-by-shell.test.ts',
  'test/contracts/replay.test.ts',
  'test/live/dockerfile.test.ts',
  'test/live/ordinary-user.test.ts',
  'src/app/ablate/ablate.test.ts',
  'src/sandboxes/daytona/daytona.test.ts',
  'src/sandboxes/e2b/provider.test.ts',
  'src/sandboxes/modal/provider.test.ts',
  'src/server/view/serve-view.test.ts',
  'src/stages/makers/bug-injection/bug-injection.test.ts',
  'src/store/packed/packed-store.test.ts',
  ...['ablations', 'completion', 'help', 'parameters', 'types'].map((name) => `test/${name}.test.ts`),
  ...[
    'ablate',
    'agent-system',
    'author-tools',
    'benchmark-guide',
    'benchmarks',
    'blackbox',
    'cache',
    'check',
    'check-bodies',
    'environment-agent',
    'eval-run',
    'evaluate-guide',
    'external-agent',
    'full-disk',
    'generate',
    'host-variables',
    'hostile-input',
    'hub',
    'input-files',
    'interrupted',
    'jobs-commands',
    'judge',
    'judge-in-recipes',
    'judge-while-making',
    'launch',
    'launch-training',
    'listen',
    'own-stages',
    'pin',
    'pipelines',
    'practice',
    'recipe-leaks',
    'recipe-check',
    'recipes',
    'registry',
    'replay',
    'rollouts',
    'run-command',
    'run-model',
    'run-model-options',
    'second-opinion',
    'serve',
    'stackexchange',
    'stage-display',
    'steps',
    'system-evidence',
    'terminal-escapes',
    'terminus-2-context',
    'terminus-2-parity',
    'trial-endings',
    'vanished-sandbox',
    'view',
    'view-command-line',
    'walkthroughs',
  ].map((name) => `test/e2e/${name}.test.ts`),
]

export default defineConfig({
  test: {
    globalSetup: ['test/global-setup.ts'],
    projects: [
      {
        ...common,
        // Files of one worker share their modules, which halves the processor time of these small tests.
        test: {
          ...common.test,
          name: 'unit',
          include: ['src/**/*.test.ts', 'data/**/*.test.ts'],
          exclude: [...common.test.exclude, ...slow],
          isolate: false,
        },
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
