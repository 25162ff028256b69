import type { StageCount } from './recipe.ts'
import type { ViewPage, ViewText } from './view.ts'

/** A dataset that the viewer can show: a file or folder, or rows of a recipe's run. */
export interface ViewDataset {
  readonly id: string
  readonly name: string
  /** Where it is on disk. */
  readonly path: string
  /** The recipe run it belongs to. */
  readonly recipe: string | null
}

/** A row of a dataset in a list; a field is null where the dataset does not say. */
export interface ViewDataRow {
  readonly number: number
  readonly id: string | null
  readonly task: string | null
  readonly source: string | null
  /** A reward, the name of an exception, or what the dataset calls a result. */
  readonly result: string | null
  readonly model: string | null
  readonly agent: string | null
  readonly turns: number
  readonly messages: number
  /** Approximate: four bytes per token. */
  readonly tokens: number
  /** The beginning of the first question. */
  readonly begins: string
}

/** How many rows have a number from `from` up to but not including `to`; the last bin may be open. */
export interface ViewBin {
  readonly from: number
  readonly to: number | null
  readonly rows: number
}

/** Rows that match, and how they are distributed. */
export interface ViewDataRows extends ViewPage<ViewDataRow> {
  readonly dataset: ViewDataset
  /** How many rows have been read, and how many there are if that is known. */
  readonly indexed: number
  readonly rows: number | null
  /** Why reading stopped early. */
  readonly trouble: string | null
  readonly turns: readonly ViewBin[]
  readonly tokens: readonly ViewBin[]
  /** The most common values, and how many rows have each. */
  readonly results: readonly (readonly [value: string, rows: number])[]
  readonly sources: readonly (readonly [value: string, rows: number])[]
  /** How many rows of the dataset an export leaves out. */
  readonly leftOut?: number
}

/** What the files of an export say about a dataset besides its rows. */
export interface ViewDataExport extends Omit<ViewDataRows, 'items' | 'offset'> {
  /** How many parts the rows' word index is split into. */
  readonly wordParts: number
}

/** The rows of a dataset that an export holds, in order. */
export interface ViewDataKeys {
  readonly numbers: readonly number[]
  readonly ids: readonly (string | null)[]
}

/** Words that reveal a way to the reward other than the task's. Places are in the content of the message. */
export interface ViewEvidence {
  readonly message: number
  readonly sign: string
  readonly quote: string
  readonly start: number
  readonly end: number
}

export interface ViewDataMessage {
  readonly role: string
  readonly content: ViewText
  readonly reasoning: ViewText | null
  readonly calls: readonly { readonly name: string; readonly text: ViewText }[]
}

/** One stop on the way from a source to a row. */
export interface ViewLineageStop {
  /** source, task, trial, dataset, row, or the name of a step. */
  readonly kind: string
  readonly text: string
  readonly detail: string | null
  readonly dropped: boolean
  /** True for the row that is shown. */
  readonly here: boolean
  /** The address of a page that shows it. */
  readonly link: string | null
}

export interface ViewDataRowPage {
  readonly dataset: ViewDataset
  readonly row: ViewDataRow
  readonly previous: number | null
  readonly next: number | null
  /** How many messages there are; not all of a very long conversation are sent at once. */
  readonly total: number
  readonly offset: number
  /** How many of the later messages an export leaves out. */
  readonly leftOut?: number
  readonly messages: readonly ViewDataMessage[]
  readonly evidence: readonly ViewEvidence[]
  readonly lineage: readonly ViewLineageStop[]
  readonly fields: readonly { readonly name: string; readonly text: ViewText }[]
}

export interface ViewSimilarRow {
  readonly row: ViewDataRow
  /** The estimated share of five-word sequences that both have in common. */
  readonly similarity: number
}

export interface ViewSimilarRows {
  readonly rows: readonly ViewSimilarRow[]
  readonly complete: boolean
}

export interface ViewStage extends StageCount {
  readonly from: readonly string[]
  readonly form: string
  /** The dataset of the rows it produced; null when they were not kept separately. */
  readonly dataset: string | null
}

/** What a run of a recipe did, stage by stage. */
export interface ViewRecipe {
  readonly id: string
  readonly name: string
  readonly dir: string
  readonly rehearsal: boolean
  readonly stages: readonly ViewStage[]
  readonly outputs: readonly {
    readonly id: string
    readonly dataset: string | null
    readonly counts: Readonly<Record<string, number>>
  }[]
}

export interface ViewDropped {
  readonly id: string | null
  readonly reason: string
  readonly detail: string | null
  readonly begins: string
  /** The address of the row before the change. */
  readonly link: string | null
}

export interface ViewDroppedRows extends ViewPage<ViewDropped> {
  readonly recipe: string
  readonly stage: string
  readonly reasons: Readonly<Record<string, number>>
  /** How many matching dropped rows an export leaves out. */
  readonly leftOut?: number
}

export interface ViewDataList {
  readonly datasets: readonly ViewDataset[]
  readonly recipes: readonly { readonly id: string; readonly name: string; readonly dir: string }[]
}
