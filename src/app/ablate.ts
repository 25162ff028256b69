import { resolve } from 'node:path'
import { UserError } from '../core/errors.ts'
import type { RecipeEvent } from '../run/recipe/run-recipe.ts'
import { type AblationPlan, planStudy, refuseOverBudget } from './ablate/plan.ts'
import { type AblationReport, reportStudy } from './ablate/report.ts'
import { type CellState, type RunCells, runCells } from './ablate/run.ts'
import { loadStudy } from './ablate/study.ts'
import type { RunControl } from './run-tasks.ts'
import { Running } from './running.ts'

export type { Cell } from './ablate/cells.ts'
export type { AblationPlan, Cost, PlannedVariant } from './ablate/plan.ts'
export type { AblationReport } from './ablate/report.ts'
export type { CellState } from './ablate/run.ts'

/** Where an ablation's datasets and results are stored. */
export interface AblationPlace {
  /** Default: runs/NAME. */
  readonly out?: string | undefined
}

export interface AblationRequest extends AblationPlace, Omit<RunCells, 'dir'> {}

export type AblationEvent =
  | { readonly kind: 'cell'; readonly state: CellState }
  | { readonly kind: 'note'; readonly text: string }
  | RecipeEvent

export interface AblationResult {
  readonly dir: string
  readonly cells: readonly CellState[]
}

/** Reports what an ablation would do, cost, detect and still lack, like `ot-agent ablate plan`. `file` describes it. */
export async function planAblation(
  file: string,
  { out, offline = false }: AblationPlace & { readonly offline?: boolean | undefined } = {},
): Promise<AblationPlan> {
  const study = await loadStudy(file)
  return planStudy(study, { dir: placeOf(study.name, out), offline })
}

/**
 * Runs the cells of an ablation, or those still missing, like `ot-agent ablate run`. A failing cell does not stop the
 * others.
 */
export function runAblation(
  file: string,
  { out, ...asked }: AblationRequest = {},
  control: RunControl = {},
): Running<AblationEvent, AblationResult> {
  return new Running(async (emit) => {
    const study = await loadStudy(file)
    if (study.search)
      throw new UserError(`${file}: expected an ablation, got a search`, `ot-agent ablate search ${file} runs it`)
    const dir = placeOf(study.name, out)
    if (asked.stage !== 'outcome') await refuseOverBudget(study, dir)
    const cells = await runCells(
      study,
      { ...asked, dir },
      {
        trials: { notify: (text) => emit({ kind: 'note', text }) },
        onCell: (state) => emit({ kind: 'cell', state }),
        onEvent: emit,
        signal: control.signal ?? new AbortController().signal,
      },
    )
    return { dir, cells }
  })
}

/** Compares the variants of an ablation with its baseline, like `ot-agent ablate report`; writes nothing. */
export async function reportAblation(file: string, { out }: AblationPlace = {}): Promise<AblationReport> {
  const study = await loadStudy(file)
  return reportStudy(study, placeOf(study.name, out))
}

/** The directory of an ablation. */
export function placeOf(name: string, out: string | undefined): string {
  return resolve(out ?? `runs/${name}`)
}
