import { type Dropped, isDropped } from '../../../core/stage.ts'
import { makeRandom, type Random } from '../../../lib/random.ts'
import type { AskAt } from '../../shared/asking/ask.ts'
import { askForBug } from './ask-model.ts'
import type { Bench } from './bench.ts'
import { findReverts, revertedFix } from './history.ts'
import type { Mutant } from './judge.ts'
import { findMutations, type Mutation, mutate, mutators } from './mutate.ts'
import type { Options, RepositoryRow } from './options.ts'
import { functionsOf } from './source.ts'

/** A change that may be a bug, with the data needed to combine it with others. */
export interface Candidate extends Mutant {
  /** The function it is in: two bugs of one task are never in the same one. */
  readonly place: string
  readonly mutation: Mutation | null
  readonly promptDigest: string | null
}

/** This row's share of the candidates for a repository, in an order that depends only on the seed. */
export async function* findCandidates(
  bench: Bench,
  row: RepositoryRow,
  given: Options,
  at: AskAt & { readonly seed: number },
): AsyncGenerator<Candidate | Dropped, void, void> {
  const random = makeRandom(at.seed, bench.digest)
  const isShare = (_: unknown, index: number) => index % row.slices === row.slice
  if (given.strategy === 'procedural') {
    for (const mutation of inTurn(bench, given, random).filter(isShare)) yield fromMutation(mutation, bench)
    return
  }
  const { model } = at
  if (!model) throw new Error('expected a model: the stage checks for one when it is made')
  const functions = bench.sources.flatMap((source) => functionsOf(source).map((node) => ({ source, node })))
  for (const { source, node } of random.shuffle(functions).filter(isShare)) {
    const written = await askForBug(source, node, { ...at, model })
    if (isDropped(written)) yield written
    else
      yield {
        ...{ mutator: 'model', changed: { [source.path]: written.text }, mutation: null },
        ...{ place: `${source.path}:${node.from}`, promptDigest: written.promptDigest },
      }
  }
}

/** Alternates between mutators, so that prolific ones do not crowd out the rest. */
function inTurn({ sources, older }: Bench, { mutators: names }: Options, random: Random): Mutation[] {
  const chosen = mutators.filter(({ name }) => names.includes(name))
  const all = sources.flatMap((source) => once(findMutations(source, chosen)))
  const reverts = names.includes(revertedFix) ? older.flatMap((files) => findReverts(sources, files)) : []
  const piles = [
    random.shuffle(reverts),
    ...random.shuffle(chosen).map(({ name }) => random.shuffle(all.filter(({ mutator }) => mutator === name))),
  ]
  const rounds = Math.max(0, ...piles.map(({ length }) => length))
  return Array.from({ length: rounds }, (_, round) => piles.flatMap((pile) => pile.slice(round, round + 1))).flat()
}

/** Later mutators in the table are more specific: if two make the same edit, the later one gets it. */
function once(mutations: readonly Mutation[]): Mutation[] {
  const rank = new Map(mutators.map(({ name }, i) => [name, i]))
  const byEdit = new Map<string, Mutation>()
  for (const mutation of mutations) {
    const { from, to, insert } = mutation.edit
    const key = `${from} ${to} ${insert}`
    const other = byEdit.get(key)
    if (!other || (rank.get(mutation.mutator) ?? 0) > (rank.get(other.mutator) ?? 0)) byEdit.set(key, mutation)
  }
  return [...byEdit.values()]
}

function fromMutation(mutation: Mutation, bench: Bench): Candidate {
  const { mutator, path, place } = mutation
  const text = withMutations([mutation], path, bench)
  const changed = text === null ? null : { [path]: text }
  return { mutator, changed, mutation, place: `${path}:${place}`, promptDigest: null }
}

/** Combines several bugs; null if they are incompatible. */
export function combine(candidates: readonly Candidate[], bench: Bench): Candidate | null {
  const mutations = candidates.flatMap(({ mutation }) => mutation ?? [])
  if (mutations.length < candidates.length) return combineFiles(candidates)
  const changed: Record<string, string> = {}
  for (const path of new Set(mutations.map((mutation) => mutation.path))) {
    const text = withMutations(
      mutations.filter((mutation) => mutation.path === path),
      path,
      bench,
    )
    if (text === null) return null
    changed[path] = text
  }
  return { mutator: 'combination', changed, mutation: null, place: '', promptDigest: null }
}

/** Models rewrite whole files, so only bugs in different files can be combined. */
function combineFiles(candidates: readonly Candidate[]): Candidate | null {
  const paths = candidates.flatMap(({ changed }) => Object.keys(changed ?? {}))
  if (new Set(paths).size < paths.length) return null
  const changed = Object.assign({}, ...candidates.map((candidate) => candidate.changed))
  return {
    mutator: 'combination',
    changed,
    mutation: null,
    place: '',
    promptDigest: candidates[0]?.promptDigest ?? null,
  }
}

function withMutations(mutations: readonly Mutation[], path: string, { sources }: Bench): string | null {
  const source = sources.find((one) => one.path === path)
  return source
    ? mutate(
        source,
        mutations.map(({ edit }) => edit),
      )
    : null
}
