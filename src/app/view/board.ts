import type { ViewBoard, ViewBoardRow, ViewModel, ViewModelRun } from '../../core/view-board.ts'
import { boardModels, boardStamp, modelDetails, taskMeans } from '../../registry/board.ts'
import type { Database } from '../../registry/database.ts'
import { lineageOf } from '../../registry/lineage.ts'
import { type FoundRun, leaderboard, searchRuns } from '../../registry/search.ts'
import { csvLine } from '../../registry/transfer.ts'
import { type RegistryPlace, withRegistry } from '../registry/open.ts'
import { loadAblation } from './ablations.ts'
import { benchmarkKey, makeRows } from './board-rows.ts'
import { NotHere } from './library-job.ts'

/** The viewer's job ids by job directory. */
export type JobIds = ReadonlyMap<string, string>

/** The leaderboard of a registry, and reports of ablations. Recomputed only when the registry has changed. */
export class Board {
  private cached: { readonly stamp: string; readonly board: Promise<Omit<ViewBoard, 'ablations'>> } | null = null

  constructor(
    /** Null: only ablations are shown. */
    private readonly place: RegistryPlace | null,
    private readonly ablations: readonly string[],
  ) {}

  async board(jobs: JobIds): Promise<ViewBoard> {
    const found =
      this.place === null ? { benchmarks: [], rows: [] } : await this.open((database) => this.ranked(database))
    const ablations = await Promise.all(this.ablations.map(loadAblation))
    return { benchmarks: found.benchmarks, rows: found.rows.map((row) => withJobs(row, jobs)), ablations }
  }

  /** Everything about a model. */
  model(name: string, jobs: JobIds): Promise<ViewModel> {
    return this.open(async (database) => {
      const [details, lineage] = [await modelDetails(database, name), await lineageOf(database, name)]
      if (details === null || lineage === null)
        throw new NotHere(`the registry has no model ${JSON.stringify(name.slice(0, 200))}`)
      const { benchmarks, rows } = await this.ranked(database)
      const runs = await searchRuns(database, { modelName: name, limit: 1000 })
      return {
        name,
        lineage,
        parameters: details.parameters === 'null' ? null : details.parameters,
        benchmarks,
        rows: rows.filter(({ model }) => model === name).map((row) => withJobs(row, jobs)),
        runs: runs.map((run) => runOf(run, jobs)),
        children: details.children,
      }
    })
  }

  private open<T>(work: (database: Database) => Promise<T>): Promise<T> {
    if (this.place === null) throw new NotHere('there is no registry')
    return withRegistry(this.place, work, { existing: true })
  }

  private async ranked(database: Database): Promise<Omit<ViewBoard, 'ablations'>> {
    const stamp = await boardStamp(database)
    if (this.cached?.stamp !== stamp) {
      const board = compute(database)
      this.cached = { stamp, board }
      // Retry after a failure.
      board.catch(() => {
        this.cached = null
      })
    }
    return this.cached.board
  }
}

async function compute(database: Database): Promise<Omit<ViewBoard, 'ablations'>> {
  const finished = await leaderboard(database)
  const partial = await searchRuns(database, { status: 'partial' })
  const models = new Map((await boardModels(database)).map((model) => [model.name, model]))
  const runs = [...finished, ...partial.map((run) => ({ ...run, runs: 0 }))].filter(({ accuracy }) => accuracy !== null)
  const means = await taskMeans(
    database,
    runs.map(({ job_id }) => job_id),
  )
  return makeRows(runs, models, means)
}

/** Replaces the path a job was ingested from with the job's id, which is what the page needs. */
function withJobs(row: ViewBoardRow, jobs: JobIds): ViewBoardRow {
  return { ...row, cells: row.cells.map((cell) => cell && { ...cell, job: jobs.get(cell.job ?? '') ?? null }) }
}

function runOf(run: FoundRun, jobs: JobIds): ViewModelRun {
  return {
    jobName: run.job_name,
    job: jobs.get(run.location ?? '') ?? null,
    agent: run.agent_name,
    benchmark: benchmarkKey(run),
    status: run.job_status,
    accuracy: run.accuracy,
    trials: run.n_trials,
    failed: run.n_failed,
    costUsd: run.cost_usd,
    startedAt: run.started_at,
  }
}

const columns = [
  ...['model', 'agent', 'benchmark', 'rank', 'tied', 'accuracy', 'low', 'high', 'tasks', 'trials', 'failed'],
  ...['cost_usd', 'state', 'started_at', 'size_b', 'base_model', 'datasets'],
]

/** The leaderboard as CSV: one row for each model, agent and benchmark. */
export function boardCsv({ benchmarks, rows }: ViewBoard): string {
  const lines = rows.flatMap((row) =>
    row.cells.flatMap((cell, i) =>
      cell === null
        ? []
        : [
            csvLine([
              ...[row.model, row.agent, benchmarks[i]?.key, cell.rank, Number(cell.tied), cell.accuracy, cell.low],
              ...[cell.high, cell.tasks, cell.trials, cell.failed, cell.costUsd, cell.state, cell.startedAt],
              ...[row.sizeB, row.base, row.datasets.join(' ')],
            ]),
          ],
    ),
  )
  return [csvLine(columns), ...lines].join('')
}
