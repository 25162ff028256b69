import { join } from 'node:path'
import { describePacked, packedTasksOf } from '../../app/generate/from-parquet.ts'
import type { GenerateOptions } from '../../app/generate/options.ts'
import type { GenerationRequest } from '../../app/generate.ts'
import { megabytes } from '../../lib/show-numbers.ts'
import { oneLine } from '../../lib/visible.ts'
import { printJson } from '../output.ts'

/** Tells what a command line would do; only looks, and writes nothing. */
export async function tellPlan(
  request: GenerationRequest,
  options: GenerateOptions,
  signal: AbortSignal,
): Promise<void> {
  const asked = packedTasksOf(options)
  const packed = asked && (await describePacked(asked, signal))
  const { stage, source, limit, seed, outputDir, upload, targetRepo, trace } = request
  const target = upload ? targetRepo : null
  if (options.json) {
    printJson({ schema: 'generation-plan/1', stage, source, limit, seed, outputDir, target, packed, trace })
    return
  }
  const lines = [
    ...(packed ? [`would unpack ${shown(packed)} into ${join(outputDir, 'tasks_extracted')}`] : []),
    ...(stage === 'traces'
      ? []
      : [
          `would make ${limit === null ? '' : `at most ${limit} `}tasks from ${source.kind === 'file' ? source.path : `the ${source.kind} source`} in ${outputDir}`,
        ]),
    ...(stage === 'tasks'
      ? []
      : [
          `would run ${trace.agent}${trace.model === null ? '' : ` with ${trace.model}`}, ${trace.nConcurrent} at once, in ${outputDir}`,
        ]),
    target === null ? 'would publish nothing' : `would publish to ${target}`,
  ]
  process.stdout.write(`${lines.map(oneLine).join('\n')}\n`)
}

function shown({ file, tasks, repository, commit, files, bytes }: Readonly<Record<string, unknown>>): string {
  if (file !== undefined) return `${tasks} tasks of ${file}`
  const names = Array.isArray(files) ? files : []
  const some = `${names.slice(0, 3).join(', ')}${names.length > 3 ? `, ... (${names.length} files)` : ''}`
  return `${some} (${megabytes(Number(bytes))}) of ${repository} at ${String(commit).slice(0, 12)}`
}
