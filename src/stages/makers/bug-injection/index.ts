import { join } from 'node:path'
import { UserError } from '../../../core/errors.ts'
import { definePlugin } from '../../../core/plugin.ts'
import type { RawRow, TaskDraft } from '../../../core/row.ts'
import { type Dropped, isDropped, type MapStage, type StageContext } from '../../../core/stage.ts'
import { digestJson, rowDigest } from '../../../lib/digest-json.ts'
import { makeRandom } from '../../../lib/random.ts'
import { Semaphore } from '../../../lib/semaphore.ts'
import { askForIssue, type Change, type Written } from './ask-model.ts'
import { type Bench, openBench } from './bench.ts'
import { type Candidate, combine, findCandidates } from './candidates.ts'
import { type Bug, bugConfig, bugFiles } from './draft.ts'
import { findLeak, type IssueFacts, renderInstruction, renderIssue } from './issue.ts'
import { Journal, type MutantRecord } from './journal.ts'
import { judgeMutant } from './judge.ts'
import { type Options, options, parseRow, type RepositoryRow } from './options.ts'
import { isSlip } from './reproduce/example.ts'
import { findExamples } from './reproduce/find-examples.ts'

/** S9: injects bugs into a repository; its own tests, run in a sandbox before and after, show what each one breaks. */
export default definePlugin<MapStage<RawRow, TaskDraft>, typeof options>({
  name: 'makers/bug-injection',
  summary: 'Bugs put into a repository on purpose; its own tests say which are worth fixing',
  options,
  make: (given) => {
    const benches = new Map<string, Promise<Bench | string>>()
    // Many rows are processed at once, and each would start its own sandboxes.
    const places = new Semaphore(given.concurrency)
    return {
      kind: 'map',
      takes: 'raw',
      gives: 'draft',
      expensive: true,
      async *run(rows, at) {
        for await (const row of rows) {
          at.signal.throwIfAborted()
          yield* injectInto(row, { given, at, benches, places })
        }
      },
    }
  },
})

/** What the rows of one stage share. */
interface Shop {
  readonly given: Options
  readonly at: StageContext
  /** By repository: each is opened and measured only once. */
  readonly benches: Map<string, Promise<Bench | string>>
  readonly places: Semaphore
}

async function* injectInto(row: RawRow, shop: Shop): AsyncGenerator<TaskDraft | Dropped, void, void> {
  const { given, at } = shop
  checkNeeds(given, at)
  const parsed = parseRow(row)
  if (typeof parsed === 'string') return yield { drop: 'bad-row', detail: parsed, id: row.id }
  const bench = await benchOf(parsed, shop)
  if (typeof bench === 'string') return yield { drop: 'bad-repository', detail: bench, id: row.id }
  const journal = await Journal.open(join(at.workDir, 'bug-injection'))
  try {
    let made = 0
    for await (const bug of findBugs(bench, parsed, journal, shop)) {
      const draft = isDropped(bug) ? bug : await makeDraft(bug, bench, row, shop)
      yield isDropped(draft) ? { ...draft, id: row.id } : draft
      if (!isDropped(draft) && ++made >= given.tasks) break
    }
    if (made === 0) yield { drop: 'no-bug', detail: 'no mutant of this row was worth keeping', id: row.id }
  } finally {
    await journal.saveYields()
    await journal.close()
  }
}

/** A bug with the output of its tests. */
interface FoundBug extends Bug {
  readonly symptoms: readonly string[]
  readonly promptDigest: string | null
}

/** Tries mutants until there are enough, and combines as many as a task needs. */
async function* findBugs(
  bench: Bench,
  row: RepositoryRow,
  journal: Journal,
  { given, at, places }: Shop,
): AsyncGenerator<FoundBug | Dropped, void, void> {
  const judge = (candidate: Candidate) => places.run(at.signal, () => judgeMutant(candidate, bench, journal, given))
  let kept: Candidate[] = []
  let tried = 0
  for await (const candidate of findCandidates(bench, row, given, at)) {
    at.signal.throwIfAborted()
    if (tried++ >= given.attempts) return
    if (isDropped(candidate)) {
      yield candidate
      continue
    }
    if (kept.some(({ place }) => place === candidate.place)) continue
    const record = await judge(candidate)
    if (record.verdict !== 'kept') {
      yield {
        drop: record.verdict,
        detail: `${candidate.mutator} in ${Object.keys(candidate.changed ?? {}).join(', ')}`,
      }
      continue
    }
    kept.push(candidate)
    if (kept.length < given.bugs) continue
    yield await joined(kept, record)
    kept = []
  }

  async function joined(parts: readonly Candidate[], alone: MutantRecord): Promise<FoundBug | Dropped> {
    const whole = parts.length === 1 ? parts[0] : combine(parts, bench)
    if (!whole?.changed) return { drop: 'does-not-combine', detail: parts.map(({ mutator }) => mutator).join(', ') }
    const { verdict, failToPass, symptoms } = parts.length === 1 ? alone : await judge(whole)
    if (verdict !== 'kept') return { drop: verdict, detail: 'a combination' }
    const mutators = parts.map(({ mutator }) => mutator)
    return { mutators, changed: whole.changed, failToPass, symptoms, promptDigest: whole.promptDigest }
  }
}

async function makeDraft(bug: FoundBug, bench: Bench, row: RawRow, shop: Shop): Promise<TaskDraft | Dropped> {
  const { given, at } = shop
  const { changed, failToPass, symptoms } = bug
  const examples = await shop.places.run(at.signal, () => findExamples(changed, failToPass, bench, at.signal))
  if (examples?.length === 0) return { drop: 'no-reproduction', detail: bug.mutators.join(', ') }
  if (examples?.every(isSlip)) return { drop: 'slip', detail: 'any checker of code finds this bug' }
  const name =
    row.fields.name ??
    String(row.fields.repo)
      .replace(/[#@][^/]*$|\.git$/g, '')
      .split(/[/:]/)
      .at(-1)
  const harmless = symptoms.filter((line) => findLeak(line, changed, bench) === null)
  const facts: IssueFacts = {
    ...{ name: String(name), workdir: given.workdir, failToPass, symptoms: harmless, commands: bench.run.commands },
    ...{ examples: examples ?? [], areTestsVisible: given.tests === 'visible' },
  }
  const issue = await writeIssue(facts, { changed, bench }, given, at)
  if (isDropped(issue)) return issue
  const instruction = renderInstruction(issue.text, facts)
  const leak = findLeak(instruction, changed, bench, failToPass)
  if (leak !== null) return { drop: 'leaky-issue', detail: `the issue ${leak}` }
  const digests = [bug.promptDigest, issue.promptDigest === '' ? null : issue.promptDigest].filter(
    (one) => one !== null,
  )
  const lineage = {
    pipeline: given.pipeline,
    strategy: 'bug-injection',
    rowId: row.id,
    rowDigest: rowDigest(row),
    seed: at.seed,
  }
  return {
    name: `${given.pipeline}-${row.id}-${digestJson(changed).slice(0, 8)}`,
    instruction,
    files: bugFiles(bug, bench, given),
    config: { ...bugConfig(bug, bench) },
    lineage: {
      ...lineage,
      ...(digests.length > 0 &&
        at.model && {
          promptDigest: digests.length === 1 ? String(digests[0]) : digestJson(digests),
          model: at.model.model,
        }),
    },
  }
}

async function writeIssue(
  facts: IssueFacts,
  { changed, bench }: Change,
  { issue }: Options,
  at: StageContext,
): Promise<Written | Dropped> {
  const { model, seed } = at
  if (issue === 'model' && model) return askForIssue(facts, { changed, bench }, { ...at, model })
  const text = renderIssue(facts, makeRandom(seed, digestJson(changed)))
  return text === null
    ? { drop: 'no-reproduction', detail: 'the tests say nothing that a user could see' }
    : { text, promptDigest: '' }
}

function benchOf(row: RepositoryRow, { given, at, benches, places }: Shop): Promise<Bench | string> {
  const { repo, commands, format, image, older, base, setup } = row
  const key = digestJson([repo, commands, format, image, older, base, setup])
  const { sandboxes, signal, log } = at
  if (!sandboxes) throw noSandboxes()
  const workDir = join(at.workDir, 'bug-injection')
  const bench =
    benches.get(key) ??
    places.run(signal, () => openBench(row, given, { sandboxes, workDir, signal, log: (line) => log(line) }))
  benches.set(key, bench)
  // An infrastructure failure may be over by the next row.
  bench.catch(() => benches.delete(key))
  return bench
}

function checkNeeds({ strategy, issue }: Options, { model, sandboxes }: StageContext): void {
  if (!sandboxes) throw noSandboxes()
  if (!model && (strategy === 'model' || issue === 'model'))
    throw new UserError(
      'makers/bug-injection: expected a model that writes bugs or issues, got none',
      'pass one with --model',
    )
}

function noSandboxes(): UserError {
  return new UserError(
    'makers/bug-injection: expected sandboxes to run tests in, got none',
    'pass a kind of sandbox with -e',
  )
}
