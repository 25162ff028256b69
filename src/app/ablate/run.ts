import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { BoundaryError, messageOf, UserError } from '../../core/errors.ts'
import { digestJson } from '../../lib/digest-json.ts'
import { readTextIfExists, writeAtomic } from '../../lib/files.ts'
import { Semaphore } from '../../lib/semaphore.ts'
import { oneLine } from '../../lib/visible.ts'
import { stageDigests } from '../../run/recipe/run-recipe.ts'
import { acquireOwner } from '../../store/job-owner.ts'
import { performRecipe, type RecipeFollower } from '../recipe/perform-recipe.ts'
import { stageServices } from '../recipe/services.ts'
import {
  type Cell,
  type CellGroup,
  cellDir,
  cellId,
  cellsOf,
  checkStudy,
  commandsOf,
  groupCells,
  type IndexedCell,
  labelOf,
  loadIndex,
  resultOf,
  saveIndex,
} from './cells.ts'
import { measureRows } from './measure.ts'
import { type CellResult, loadResult, saveResult } from './result.ts'
import { loadCell, prepareCell, runCommands, type StartedCommand } from './run-commands.ts'
import type { Study } from './study.ts'

export interface RunCells {
  /** Where everything is stored; the same directory resumes. */
  readonly dir: string
  /** Names of variants, with `*` for any characters; empty means all. */
  readonly only?: readonly string[] | undefined
  /** `data`: make datasets only. `outcome`: run commands only, of cells whose dataset is here. */
  readonly stage?: 'data' | 'outcome' | 'both' | undefined
  /** How many cells' commands run at once. */
  readonly concurrency?: number | undefined
}

export interface CellState {
  readonly cell: Cell
  readonly id: string
  /** `ready`: the dataset is made, but its commands have not run. */
  readonly state: 'done' | 'ready' | 'failed'
  readonly cached: boolean
  readonly reason: string | null
}

/** Follows the cells of an ablation, and the recipes that make their datasets. */
export interface CellFollower extends RecipeFollower {
  readonly onCell?: ((state: CellState) => void) | undefined
  readonly onCommand?: ((cell: Cell, command: StartedCommand) => void) | undefined
  readonly onGroup?:
    | ((group: { readonly cells: readonly Cell[]; readonly at: number; readonly of: number }) => void)
    | undefined
}

/** Runs the missing cells of a study. A failing cell does not stop the others. */
export async function runCells(study: Study, asked: RunCells, follower: CellFollower): Promise<CellState[]> {
  checkStudy(study)
  const cells = chooseCells(study, asked.only ?? [])
  const groups = asked.stage === 'outcome' ? [] : await groupCells(study, cells)
  await mkdir(asked.dir, { recursive: true })
  const release = await acquireOwner(asked.dir)
  const run = new CellRun(study, asked, follower)
  try {
    if (asked.stage === 'outcome') await run.commandsOnly(cells)
    else for (const [at, group] of groups.entries()) await run.group(group, { at, of: groups.length })
    return await run.finish()
  } finally {
    // Commands that were told to stop may still save what they have, in a directory that is theirs until they end.
    await run.settled()
    await release()
  }
}

function chooseCells(study: Study, only: readonly string[]): Cell[] {
  const patterns = only.map((text) => new RegExp(`^${text.split('*').map(quoted).join('.*')}$`))
  for (const [i, pattern] of patterns.entries())
    if (!study.variants.some(({ name }) => pattern.test(name)))
      throw new UserError(
        `--only ${only[i]}: no variant has this name`,
        `known: ${study.variants.map(({ name }) => name).join(', ')}`,
      )
  return cellsOf(study).filter(({ variant }) => only.length === 0 || patterns.some((each) => each.test(variant)))
}

function quoted(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

class CellRun {
  private readonly states: CellState[] = []
  private readonly running: Promise<void>[] = []
  private readonly places: Semaphore
  private readonly started = new Map<string, Promise<void>>()

  constructor(
    private readonly study: Study,
    private readonly asked: RunCells,
    private readonly follower: CellFollower,
  ) {
    this.places = new Semaphore(asked.concurrency ?? 1)
  }

  /** Makes the dataset of a group of cells, then measures them or starts their commands. */
  async group(group: CellGroup, place: { readonly at: number; readonly of: number }): Promise<void> {
    const { signal, trials } = this.follower
    signal.throwIfAborted()
    const dataDir = join(this.asked.dir, 'data')
    const { recipe, stage } = group
    let indexed: readonly IndexedCell[] | null = null
    try {
      const digests = await stageDigests({ recipe, dir: dataDir, services: stageServices(signal, trials), signal })
      const data = digests.get(stage) ?? ''
      indexed = await this.index(group, data)
      const open: IndexedCell[] = []
      for (const cell of indexed) {
        const dir = cellDir(this.asked.dir, cell.id)
        if (await loadResult(dir)) this.tell(cell, 'done', { cached: true })
        else if ((await loadCell(dir)) === null) open.push(cell)
        else if (this.asked.stage === 'data') this.tell(cell, 'ready', { cached: true })
        // Its dataset is there from an earlier run.
        else this.start(cell)
      }
      if (open.length === 0) return
      this.follower.onGroup?.({ cells: open, ...place })
      await this.make(group, open, data)
    } catch (error) {
      const reason = reasonOf(error)
      const done = new Set(this.states.map(({ cell }) => labelOf(cell)))
      const cells = indexed ?? (await this.index(group, null))
      await this.fail(
        cells.filter((cell) => !done.has(labelOf(cell))),
        reason,
      )
    }
  }

  /**
   * Notes which results belong to the cells of a group. While its data is unknown, a cell keeps the result it had only
   * if it is still the same cell.
   */
  private async index({ recipe, cells }: CellGroup, data: string | null): Promise<readonly IndexedCell[]> {
    const before = await loadIndex(this.asked.dir)
    const known = new Map(before.map((cell) => [labelOf(cell), cell]))
    const now = cells.map((cell): IndexedCell => {
      const asked = cellId(this.study, cell, digestJson(recipe.lock))
      const old = known.get(labelOf(cell))
      if (data === null && old?.asked === asked) return old
      return { ...copyOf(cell), id: data === null ? asked : cellId(this.study, cell, data), asked }
    })
    await saveIndex(this.asked.dir, before, now)
    return now
  }

  private async make({ recipe, stage }: CellGroup, open: readonly IndexedCell[], data: string): Promise<void> {
    const dataDir = join(this.asked.dir, 'data')
    const { steps, sinks } = await performRecipe({ recipe, dir: dataDir, until: stage }, this.follower)
    const { outcome } = this.study
    if (!outcome.commands) {
      const result = await measureRows(outcome, { stage, steps, dataDir })
      for (const cell of open) await this.save(cell, result)
      return
    }
    const sink = sinks.find(({ id }) => id === stage)
    if (!sink) throw new Error(`stage ${stage} wrote nothing`)
    // What is in its directory may be the dataset of another variant.
    if (sink.rows === 0)
      throw new UserError(`stage ${stage}: expected rows to write, got none`, 'loosen the filters above it')
    for (const cell of open) {
      const [commands, result] = [commandsOf(this.study, cell), [...resultOf(this.study, cell)]]
      const file = {
        schema: 'ablate-cell/1',
        id: cell.id,
        label: labelOf(cell),
        data,
        commands,
        result,
      } as const
      await prepareCell(cellDir(this.asked.dir, cell.id), file, sink.dir)
      if (this.asked.stage === 'data') this.tell(cell, 'ready')
      else this.start(cell)
    }
  }

  /** Runs the commands of the cells whose datasets are here, without running any recipe. */
  async commandsOnly(cells: readonly Cell[]): Promise<void> {
    const index = await loadIndex(this.asked.dir)
    const labels = new Set(cells.map(labelOf))
    if (!this.study.outcome.commands)
      throw new UserError(`${this.study.file}: outcome: only commands can run without the recipe`, 'remove --stage')
    const ready: IndexedCell[] = []
    for (const cell of index.filter((each) => labels.has(labelOf(each)))) {
      const dir = cellDir(this.asked.dir, cell.id)
      if (await loadResult(dir)) {
        this.tell(cell, 'done', { cached: true })
        continue
      }
      const file = await loadCell(dir)
      if (file === null) continue
      if (JSON.stringify(file.commands) !== JSON.stringify(commandsOf(this.study, cell)))
        throw new UserError(
          `${labelOf(cell)}: its commands differ from those in ${this.study.file}`,
          'run the ablation without --stage outcome, where its recipe can run',
        )
      ready.push(cell)
    }
    // What is wrong with one is known before the first one starts.
    for (const cell of ready) this.start(cell)
    if (this.states.length === 0 && this.running.length === 0)
      throw new UserError(
        `${this.asked.dir}: expected cells with their datasets, found none`,
        'create them with --stage data, or unpack them with --unpack',
      )
  }

  /** Cells with the same id are the same work. */
  private start(cell: IndexedCell): void {
    const { signal } = this.follower
    const before = this.started.get(cell.id)
    const work = before
      ? before.then(async () => {
          const result = await loadResult(cellDir(this.asked.dir, cell.id))
          if (result) await this.save(cell, result)
        })
      : this.places.run(signal, async () => {
          const dir = cellDir(this.asked.dir, cell.id)
          const [commands, result] = [commandsOf(this.study, cell), [...resultOf(this.study, cell)]]
          const onCommand = (command: StartedCommand) => this.follower.onCommand?.(copyOf(cell), command)
          const here = this.study.folder
          await this.save(cell, await runCommands(dir, { commands, result, here, signal, onCommand }))
        })
    const told = work.catch((error: unknown) => this.fail([cell], reasonOf(error)))
    // `finish` handles the rejection; until then it must not count as unhandled.
    told.catch(() => {})
    if (!before)
      this.started.set(
        cell.id,
        work.catch(() => {}),
      )
    this.running.push(told)
  }

  async finish(): Promise<CellState[]> {
    await this.settled()
    await Promise.all(this.running)
    return this.states
  }

  /** Waits for the commands that run. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.running)
  }

  private async save(cell: IndexedCell, result: CellResult): Promise<void> {
    const dir = cellDir(this.asked.dir, cell.id)
    await saveResult(dir, result)
    await rm(join(dir, 'failure.txt'), { force: true })
    this.tell(cell, 'done')
  }

  /** Records in cells why they have no result. */
  private async fail(cells: readonly IndexedCell[], reason: string): Promise<void> {
    for (const cell of cells) {
      await writeAtomic(join(cellDir(this.asked.dir, cell.id), 'failure.txt'), `${reason}\n`)
      this.tell(cell, 'failed', { reason })
    }
  }

  private tell(
    cell: IndexedCell,
    state: CellState['state'],
    { cached = false, reason = null }: { readonly cached?: boolean; readonly reason?: string | null } = {},
  ): void {
    const told = { cell: copyOf(cell), id: cell.id, state, cached, reason }
    this.states.push(told)
    this.follower.onCell?.(told)
  }
}

/** Why a cell failed, for people; a bug of this program is thrown instead. */
function reasonOf(error: unknown): string {
  if (!(error instanceof UserError || error instanceof BoundaryError)) throw error
  return oneLine(error instanceof UserError ? `${error.message} (${error.hint})` : messageOf(error))
}

function copyOf({ variant, factors, seed }: Cell): { variant: string; factors: Cell['factors']; seed: number | null } {
  return { variant, factors, seed }
}

/** Why a cell failed when it last ran, or null. */
export async function failureOf(dir: string, id: string): Promise<string | null> {
  return (await readTextIfExists(join(cellDir(dir, id), 'failure.txt')))?.trim() ?? null
}
