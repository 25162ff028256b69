import type { RawRow } from 'ot-agent'
import { splitPaper, splitScenario } from './split.ts'

interface Dataset {
  /** Where the real dataset is. */
  readonly hub: { readonly repo: string; readonly config?: string }
  /** The field that names a row; without it, rows are named by their content. */
  readonly id?: string
  /** Options of makers/row-template. */
  readonly template: Readonly<Record<string, unknown>>
  /** Splits rows that hold several questions, or rewrites rows with none that can be checked as they are. */
  readonly split?: (row: RawRow) => readonly RawRow[]
}

const boxed = { pattern: '\\\\boxed\\{([^{}]+)\\}', check: 'number' }
const finalAnswer = { pattern: 'final answer is:?\\s*\\$?([^$\\n]+?)\\$?\\.?(?:\\s*I hope.*)?$', check: 'number' }

export const names = [
  'data-ablation',
  'glaive',
  'gsm8k',
  'ling-coder',
  'magicoder',
  'nemo-prism-math',
  'qasper',
  'toolscale',
  'tulu-3-algebra',
  'tulu-3-math-grade',
  'wizardlm-orca',
] as const

/** Every dataset by name: where it is, and which of its fields hold questions and answers. */
export const datasets: Readonly<Record<(typeof names)[number], Dataset>> = {
  'data-ablation': {
    hub: { repo: 'simplescaling/data_ablation_full59K' },
    template: { instruction: '{{question}}', answer: { field: 'solution', ...boxed } },
  },
  glaive: {
    hub: { repo: 'glaiveai/glaive-code-assistant' },
    template: { instruction: '{{question}}', code: { field: 'answer' } },
  },
  gsm8k: {
    hub: { repo: 'openai/gsm8k', config: 'main' },
    template: { instruction: '{{question}}', answer: { field: 'answer', pattern: '####\\s*(.+)$', check: 'number' } },
  },
  'ling-coder': {
    hub: { repo: 'inclusionAI/Ling-Coder-SFT' },
    id: 'mid',
    template: { instruction: '{{messages.0.content}}', code: { field: 'messages.1.content' } },
  },
  magicoder: {
    hub: { repo: 'ise-uiuc/Magicoder-Evol-Instruct-110K' },
    template: { instruction: '{{instruction}}', code: { field: 'response' } },
  },
  'nemo-prism-math': {
    hub: { repo: 'nvidia/Nemotron-PrismMath' },
    id: 'id',
    template: { instruction: '{{problem}}', answer: { field: 'solution', ...boxed } },
  },
  qasper: {
    hub: { repo: 'allenai/qasper' },
    id: 'id',
    template: {
      instruction: 'The file `/app/paper.md` is a paper, "{{title}}". Answer from it:\n\n{{question}}',
      answer: { field: 'answers', check: 'text' },
      files: { 'paper.md': '{{paper}}' },
    },
    split: splitPaper,
  },
  toolscale: {
    hub: { repo: 'nvidia/ToolScale' },
    id: 'id',
    template: {
      instruction:
        'You answer for a service desk. A customer comes to you:\n\n> {{said}}\n\nThe tools you have, with their parameters:\n\n{{tools}}\n\nDecide which tools to call, in which order and with which values. Spell it as one line: `name(parameter=value, ...)`, parameters in the order above, calls separated by `; `.',
      answer: { field: 'calls', check: 'text' },
    },
    split: splitScenario,
  },
  'tulu-3-algebra': {
    hub: { repo: 'allenai/tulu-3-sft-personas-algebra' },
    id: 'id',
    template: { instruction: '{{prompt}}', answer: { field: 'messages.1.content', ...finalAnswer } },
  },
  'tulu-3-math-grade': {
    hub: { repo: 'allenai/tulu-3-sft-personas-math-grade-filtered' },
    id: 'id',
    template: { instruction: '{{prompt}}', answer: { field: 'messages.1.content', ...finalAnswer } },
  },
  'wizardlm-orca': {
    hub: { repo: 'pankajmathur/WizardLM_Orca' },
    template: { instruction: '{{instruction}}', code: { field: 'output' } },
  },
}
