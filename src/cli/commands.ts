import type { Group } from './command-table.ts'

export type { Group } from './command-table.ts'

/** Completes the commands of this table, which it cannot import itself. */
const completion = async () => {
  const { makeCompletion } = await import('./completion.ts')
  return { default: () => makeCompletion(commands) }
}

/** Every command with its line in `--help`; a command's file loads only when it is called. */
export const commands: Group = {
  demo: { summary: 'Make a small dataset offline, start to finish', load: () => import('./demo.ts') },
  run: { summary: 'Run tasks with an agent in sandboxes', load: () => import('./run.ts') },
  jobs: {
    summary: 'List, show, analyze, resume, retry, rescore and pack jobs',
    group: {
      list: { summary: 'List the jobs of a directory', load: () => import('./jobs/list.ts') },
      show: { summary: 'Show one job, trial by trial', load: () => import('./jobs/show.ts') },
      report: { summary: 'Report times, turns, commands and failures', load: () => import('./jobs/report.ts') },
      best: { summary: 'Copy the best trial of each task', load: () => import('./jobs/best.ts') },
      resume: { summary: 'Finish a job that was interrupted', load: () => import('./jobs/resume.ts') },
      retry: { summary: 'Run failed trials of a job again', load: () => import('./jobs/retry.ts') },
      rescore: { summary: 'Rerun only the verifier, on kept artifacts', load: () => import('./jobs/rescore.ts') },
      pack: { summary: 'Turn trial directories into a few packed files', load: () => import('./jobs/pack.ts') },
      unpack: { summary: 'Turn a packed job back into trial directories', load: () => import('./jobs/unpack.ts') },
    },
  },
  tasks: {
    summary: 'Make, lint, check, try, edit, pack, convert and pin tasks',
    group: {
      init: { summary: 'Write a starter task', load: () => import('./tasks/init.ts') },
      lint: { summary: 'Look for mistakes in the files of tasks', load: () => import('./tasks/lint.ts') },
      check: {
        summary: 'Prove that tasks can be solved and cannot be cheated',
        load: () => import('./tasks/check.ts'),
      },
      shell: { summary: 'Open a terminal in the sandbox of a task', load: () => import('./tasks/shell.ts') },
      edit: { summary: 'Change keys of task.toml in many tasks', load: () => import('./tasks/edit.ts') },
      pack: { summary: 'Pack a folder of tasks into a parquet file', load: () => import('./tasks/pack.ts') },
      unpack: { summary: 'Unpack tasks from a parquet file', load: () => import('./tasks/unpack.ts') },
      convert: { summary: 'Convert Terminal-Bench tasks to Harbor tasks', load: () => import('./tasks/convert.ts') },
      pin: { summary: 'Pin what tasks install to exact versions', load: () => import('./tasks/pin.ts') },
      'find-dockerfiles': {
        summary: 'Search GitHub for Dockerfiles you may use',
        load: () => import('./tasks/find-dockerfiles.ts'),
      },
    },
  },
  agents: {
    summary: 'List agents, and write and test your own',
    group: {
      list: { summary: 'List the built-in agents', load: () => import('./agents/list.ts') },
      show: { summary: 'Show the options of an agent', load: () => import('./agents/show.ts') },
      init: { summary: 'Write a starter agent', load: () => import('./agents/init.ts') },
      test: { summary: 'Try an agent with its model', load: () => import('./agents/test.ts') },
    },
  },
  sandboxes: {
    summary: 'List the kinds of sandbox and their options',
    group: {
      list: { summary: 'List the kinds of sandbox', load: () => import('./sandboxes/list.ts') },
      show: { summary: 'Show the options of one', load: () => import('./sandboxes/show.ts') },
    },
  },
  engines: {
    summary: 'List the engines that reach models, and their options',
    group: {
      list: { summary: 'List the engines that reach models', load: () => import('./engines/list.ts') },
      show: { summary: 'Show the options of one', load: () => import('./engines/show.ts') },
    },
  },
  generate: { summary: 'Make tasks, and traces, from any source', load: () => import('./generate.ts') },
  traces: {
    summary: 'Export trials as training data, and inspect and replay it',
    group: {
      export: { summary: 'Write trials as a dataset of conversations', load: () => import('./traces/export.ts') },
      stats: { summary: 'Count turns, tokens, results and failures', load: () => import('./traces/stats.ts') },
      head: { summary: 'Print the first rows of a dataset', load: () => import('./traces/head.ts') },
      show: { summary: 'Print the trajectory of one trial', load: () => import('./traces/show.ts') },
      replay: { summary: 'Replay recorded conversations and compare', load: () => import('./traces/replay.ts') },
    },
  },
  hub: {
    summary: 'Upload, download, list and squash datasets on the Hub',
    group: {
      upload: { summary: 'Upload a folder, or tasks as one file', load: () => import('./hub/upload.ts') },
      download: { summary: 'Download a dataset, or the tasks in it', load: () => import('./hub/download.ts') },
      list: { summary: 'List the models and datasets of an organization', load: () => import('./hub/list.ts') },
      squash: { summary: 'Remove the history of a dataset or model', load: () => import('./hub/squash.ts') },
    },
  },
  recipe: {
    summary: 'Make a dataset from a recipe, and explain every row of it',
    group: {
      check: {
        summary: 'Show what a recipe would do and cost, and what is missing',
        load: () => import('./recipe/check.ts'),
      },
      init: { summary: 'Write a starter recipe', load: () => import('./recipe/init.ts') },
      run: { summary: 'Run a recipe, or resume it', load: () => import('./recipe/run.ts') },
      stages: { summary: 'List the stages, or show the options of one', load: () => import('./recipe/stages.ts') },
      explain: { summary: 'Count what each stage kept and dropped', load: () => import('./recipe/explain.ts') },
      lineage: { summary: 'Follow a row back to its source', load: () => import('./recipe/lineage.ts') },
    },
  },
  benchmarks: {
    summary: 'List benchmarks, fetch their tasks, and keep them out of datasets',
    group: {
      list: { summary: 'List benchmarks and available packs', load: () => import('./benchmarks/list.ts') },
      pack: { summary: 'Build a decontamination pack for recipes', load: () => import('./benchmarks/pack.ts') },
      fetch: { summary: 'Fetch the tasks of a benchmark', load: () => import('./benchmarks/fetch.ts') },
    },
  },
  launch: {
    summary: 'Run generation, training and evaluation on a cluster',
    load: () => import('./launch.ts'),
    group: {
      status: { summary: 'Show the state of the jobs of a launch', load: () => import('./launch/status.ts') },
      watch: { summary: 'Follow a launch until it is over', load: () => import('./launch/watch.ts') },
      logs: { summary: 'Print the logs of the jobs of a launch', load: () => import('./launch/logs.ts') },
      cancel: { summary: 'Cancel waiting and running jobs of a launch', load: () => import('./launch/cancel.ts') },
      resume: { summary: 'Submit unfinished jobs again', load: () => import('./launch/resume.ts') },
      list: { summary: 'List the launches of a directory', load: () => import('./launch/list.ts') },
      summary: { summary: 'Record the outcome of a training run', load: () => import('./launch/summary.ts') },
      cluster: {
        summary: 'List and check clusters, and add your own',
        group: {
          list: { summary: 'List the known clusters', load: () => import('./launch/cluster/list.ts') },
          check: {
            summary: 'Check a cluster file against this machine',
            load: () => import('./launch/cluster/check.ts'),
          },
          init: { summary: 'Write a starter cluster file', load: () => import('./launch/cluster/init.ts') },
        },
      },
    },
  },
  eval: {
    summary: 'Evaluate models with error bars, and compare them',
    group: {
      run: { summary: 'Evaluate a model on a benchmark', load: () => import('./eval/run.ts') },
      report: { summary: 'Score jobs, with intervals', load: () => import('./eval/report.ts') },
      compare: { summary: 'Say whether jobs differ, task by task', load: () => import('./eval/compare.ts') },
      power: { summary: 'Predict what a comparison can detect', load: () => import('./eval/power.ts') },
      listen: { summary: 'Evaluate models that have no result yet', load: () => import('./eval/listen.ts') },
    },
  },
  ablate: {
    summary: 'Compare variants of a recipe by their results',
    group: {
      plan: { summary: 'Show what an ablation would cost and detect', load: () => import('./ablate/plan.ts') },
      run: { summary: 'Run the variants, or resume them', load: () => import('./ablate/run.ts') },
      report: { summary: 'Compare the variants with the baseline', load: () => import('./ablate/report.ts') },
      search: {
        summary: 'Find good option values by successive halving',
        load: () => import('./ablate/search.ts'),
      },
    },
  },
  registry: {
    summary: 'Keep datasets, models and results in a database',
    group: {
      ingest: { summary: 'Register jobs, datasets and trained models', load: () => import('./registry/ingest.ts') },
      search: { summary: 'Find runs, rank them, or show a matrix', load: () => import('./registry/search.ts') },
      lineage: { summary: 'Show what a model or dataset was made of', load: () => import('./registry/lineage.ts') },
      export: { summary: 'Write the whole registry to files', load: () => import('./registry/export.ts') },
      import: { summary: 'Add the rows of an export', load: () => import('./registry/import.ts') },
      edit: { summary: 'Change one entry', load: () => import('./registry/edit.ts') },
      remove: { summary: 'Remove one entry', load: () => import('./registry/remove.ts') },
      gc: { summary: 'Remove what no result needs', load: () => import('./registry/gc.ts') },
      sql: { summary: 'Run one SELECT', load: () => import('./registry/sql.ts') },
    },
  },
  serve: {
    summary: 'Serve a model or a stand-in over HTTP, or check a server',
    load: () => import('./serve.ts'),
    group: {
      sweep: { summary: 'Measure settings of a server under load', load: () => import('./serve/sweep.ts') },
    },
  },
  view: { summary: 'Show jobs and trials in a browser', load: () => import('./view.ts') },
  doctor: { summary: 'Check what this machine and account can run', load: () => import('./doctor.ts') },
  clean: { summary: 'Remove sandboxes whose owner is dead', load: () => import('./clean.ts') },
  completion: { summary: 'Complete commands with the Tab key', load: completion },
}
