import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf, UserError } from '../../core/errors.ts'
import { packageRoot } from '../../lib/package-root.ts'
import { type Pieces, readHarborPrompts } from './harbor-prompts.ts'

/** Every text the agent sends, with its required and optional placeholders. */
const catalog = {
  'first-json': { needs: ['instruction', 'terminal_state'] },
  'first-xml': { needs: ['instruction', 'terminal_state'] },
  'parse-error': { needs: ['feedback'], may: ['response_type'] },
  warnings: { needs: ['feedback', 'terminal_state'] },
  'confirm-json': { needs: ['terminal_state'] },
  'confirm-xml': { needs: ['terminal_state'] },
  'too-long': { needs: [], may: ['limit'] },
  filtered: { needs: [] },
  'time-left': { needs: ['seconds'] },
  summary: { needs: [], may: ['instruction'] },
  questions: { needs: ['summary'], may: ['instruction', 'terminal_state'] },
  answers: { needs: ['questions'] },
  handoff: { needs: ['answers'] },
  'short-summary': { needs: ['instruction'], may: ['terminal_state'] },
  restart: { needs: ['first_prompt'], may: ['terminal_state'] },
  'restart-summary': { needs: ['first_prompt', 'summary'], may: ['terminal_state'] },
} as const satisfies Record<string, { readonly needs: readonly string[]; readonly may?: readonly string[] }>

export type PromptName = keyof typeof catalog

/** Where prompts come from. */
export interface PromptSource {
  /** A folder with files that replace ours. */
  readonly folder?: string | null
  /** Those of an installed Harbor, and its Python if it is not the usual one. */
  readonly harbor?: { readonly python: string | null } | null
}

/** The texts of one agent. */
export class Prompts {
  private constructor(
    private readonly texts: ReadonlyMap<PromptName, Pieces>,
    /** Identifies the texts, for the record. */
    readonly digest: string,
  ) {}

  /** Loads and checks all texts; throws UserError that names a bad file and what is wrong with it. */
  static load({ folder, harbor }: PromptSource = {}): Prompts {
    const texts = new Map(readFolder(join(packageRoot, 'src/agents/terminus-2/prompts')))
    if (harbor) {
      const { where, prompts } = readHarborPrompts(harbor.python)
      for (const [name, pieces] of Object.entries(prompts)) texts.set(...checked(name, pieces, where))
    }
    if (folder) for (const [name, pieces] of readFolder(folder)) texts.set(name, pieces)
    const digest = createHash('sha256')
      .update(JSON.stringify([...texts].sort()))
      .digest('hex')
    return new Prompts(texts, digest)
  }

  render(name: PromptName, values: Readonly<Record<string, string>> = {}): string {
    const pieces = this.texts.get(name) ?? []
    return pieces.map((piece) => (typeof piece === 'string' ? piece : (values[piece.placeholder] ?? ''))).join('')
  }
}

function readFolder(folder: string): [PromptName, Pieces][] {
  const files = listed(folder).filter((file) => file.endsWith('.txt'))
  if (files.length === 0)
    throw new UserError(
      `${folder}: expected prompt templates, found none`,
      `name them ${names.slice(0, 3).join('.txt, ')}.txt, ...`,
    )
  return files.map((file) => {
    const path = join(folder, file)
    return checked(file.slice(0, -'.txt'.length), piecesOf(readText(path), path), path)
  })
}

const names = Object.keys(catalog) as PromptName[]

function listed(folder: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch (error) {
    throw new UserError(`cannot read the prompt templates: ${messageOf(error)}`, 'check prompt_template_path')
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UserError(`cannot read the prompt template: ${messageOf(error)}`, 'check prompt_template_path')
  }
}

/** As in Jinja, one line break at the end of the file is not part of the text. */
function piecesOf(text: string, path: string): Pieces {
  const pieces: (string | { placeholder: string })[] = []
  const body = text.replace(/\r?\n$/, '')
  let at = 0
  for (const match of body.matchAll(/\{\{-?\s*([a-z_]+)\s*-?\}\}/g)) {
    pieces.push(body.slice(at, match.index), { placeholder: match[1] ?? '' })
    at = match.index + match[0].length
  }
  pieces.push(body.slice(at))
  const other = pieces
    .map((piece) => typeof piece === 'string' && /(?:\{\{|\{%|\{#)[\s\S]{0,60}/.exec(piece))
    .find(Boolean)
  if (!other) return pieces.filter((piece) => piece !== '')
  throw new UserError(
    `${path}: cannot use ${JSON.stringify(other[0])} in a prompt template`,
    'a template may use {{ name }} with known names; filters and blocks are not supported',
  )
}

function checked(name: string, pieces: Pieces, where: string): [PromptName, Pieces] {
  const known = names.find((candidate) => candidate === name)
  if (known === undefined)
    throw new UserError(`${where}: unknown prompt ${JSON.stringify(name)}`, `there are: ${names.join(', ')}`)
  const { needs, may = [] }: { needs: readonly string[]; may?: readonly string[] } = catalog[known]
  const used = pieces.flatMap((piece) => (typeof piece === 'string' ? [] : [piece.placeholder]))
  const unknown = used.find((placeholder) => ![...needs, ...may].includes(placeholder))
  const hint = `${name} knows ${[...needs, ...may].map((placeholder) => `{{ ${placeholder} }}`).join(', ') || 'no placeholder'}`
  if (unknown !== undefined) throw new UserError(`${where}: unknown placeholder {{ ${unknown} }}`, hint)
  const missing = needs.find((placeholder) => !used.includes(placeholder))
  if (missing !== undefined) throw new UserError(`${where}: the placeholder {{ ${missing} }} is missing`, hint)
  return [known, pieces]
}
