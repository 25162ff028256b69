import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { launch } from './launch.ts'
import { cancelLaunch, launchStatus, listLaunches, resumeLaunch } from './launches.ts'

const consolidate = { jobType: 'consolidate', consolidateInput: '/ckpt/run', cluster: 'vista', dryRun: true } as const

test('a request in camel case plans what its flags would, and a dry run hands nothing over', async () => {
  const { id, plan, submitted } = await launch({ ...consolidate, experimentsDir: '/exp', timeLimit: '01:00:00' })
  expect(plan.launch).toMatchObject({ id, jobType: 'consolidate', experimentsDir: '/exp' })
  expect(plan.launch.jobs.map(({ name, resources }) => [name, resources.timeLimit])).toEqual([
    ['consolidate', '01:00:00'],
  ])
  expect(plan.scripts.get('consolidate')?.text).toContain('#SBATCH --time=01:00:00')
  expect(submitted).toEqual([])
})

test('what a request cannot hold is refused with the name that was meant, and says where it came from', async () => {
  const misspelt = { ...consolidate, consolidateInptu: 'x' }
  await expect(launch(misspelt)).rejects.toMatchObject({
    message: 'request: unknown setting "consolidateInptu"',
    hint: 'did you mean consolidate_input?',
  })
  await expect(launch({ ...consolidate, maxRestarts: -1 })).rejects.toThrow(
    '--max-restarts (request): expected a whole',
  )
})

test('a directory without launches lists none, and has none to ask about', async () => {
  const experimentsDir = join(mkdtempSync(join(tmpdir(), 'launches-')), 'experiments')
  expect(await listLaunches({ experimentsDir })).toEqual({ launches: [], broken: [] })
  await expect(launchStatus({ experimentsDir })).rejects.toThrow('expected launches in')
  await expect(cancelLaunch({ experimentsDir, launch: 'x' })).rejects.toThrow('starts with "x"')
})

test('a cluster without GPUs is refused by name where a training needs them', async () => {
  const asked = { jobType: 'rl', trainData: ['/data/tasks'], modelPath: '/model', dryRun: true } as const
  await expect(launch({ ...asked, cluster: 'local' })).rejects.toThrow('cluster local: expected GPUs to train on')
  await expect(launch({ ...asked, cluster: 'vista', numGpus: 9 })).rejects.toThrow('--num-gpus: expected 1 to 1')
})

test('--trainer small trains a student of our own on one node, and says what it cannot do', async () => {
  const small = {
    jobType: 'sft',
    trainer: 'small',
    dataset: '/data/mine',
    experimentsDir: '/exp',
    dryRun: true,
  } as const
  const { plan } = await launch({
    ...small,
    cluster: 'vista',
    learningRate: 0.002,
    trainExtraArgs: '--layers 4 --width 256',
  })
  const script = plan.scripts.get('train')?.text
  expect(script).toMatch(/python3 \S+trainers\/small\/train.py --data \/data\/mine --out \/exp\/checkpoints\/\S+/)
  expect(script).toContain('--lr 0.002 --layers 4 --width 256')
  expect(plan.launch.jobs.map(({ resources: { nodes, gpusPerNode } }) => [nodes, gpusPerNode])).toEqual([[1, 1]])
  const [facts = ''] = Object.values(plan.launch.files)
  expect(facts).toContain('random weights')
  await expect(launch({ ...small, cluster: 'vista', numNodes: 2 })).rejects.toThrow('expected one node')
  await expect(launch({ ...small, cluster: 'vista', jobType: 'pretokenize' })).rejects.toThrow(
    'expected --job-type sft, got pretokenize',
  )
  await expect(launch({ ...small, cluster: 'vista', dryRun: false })).rejects.toThrow('nothing at /data/mine')
})

test('a directory whose variable is not set is refused, but not in a dry run, which may be far from the cluster', async () => {
  const dataset = mkdtempSync(join(tmpdir(), 'launch-rows-'))
  onTestFinished(() => rmSync(dataset, { recursive: true }))
  writeFileSync(
    join(dataset, 'rows.jsonl'),
    '{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}\n',
  )
  const asked = {
    jobType: 'sft',
    trainer: 'small',
    dataset,
    experimentsDir: join(dataset, 'exp'),
    cluster: 'local',
  } as const
  const checkpointsDir = '$NO_SUCH_SCRATCH/checkpoints'
  await expect(launch({ ...asked, checkpointsDir })).rejects.toMatchObject({
    message: `--checkpoints-dir: expected a directory, got ${checkpointsDir}, and NO_SUCH_SCRATCH is not set`,
  })
  const { plan } = await launch({ ...asked, checkpointsDir, dryRun: true })
  expect(plan.scripts.get('train')?.text).toContain(checkpointsDir)
})

test('a ready-made teacher is planned for the GPUs of the cluster, and refused where it cannot fit', async () => {
  const asked = {
    jobType: 'datagen',
    datagenScript: 'data/nl2bash/generate.ts',
    datagenExtraArgs: '--no-upload --source fixture',
    enableTraceGen: true,
    disableVerification: true,
    experimentsDir: '/exp',
    dryRun: true,
  } as const
  const planned = async (cluster: string, datagenEngine: string, more = {}) => {
    const { plan } = await launch({ ...asked, cluster, datagenEngine, ...more })
    const server = plan.launch.jobs.find(({ name }) => name === 'server')
    const config = Object.entries(plan.launch.files).find(([path]) => path.includes('datagen_config'))?.[1]
    return { resources: server?.resources, config }
  }
  const torch = await planned('nyutorch', 'glm-4-7-awq')
  expect(torch.resources).toMatchObject({ nodes: 1, gpusPerNode: 4 })
  expect(torch.config).toContain('max_model_len: 131072')
  expect(torch.config).not.toContain('gpu_profiles')
  expect((await planned('alpha', 'glm-4-7-awq')).config).toContain('tensor_parallel_size: 8')
  expect((await planned('oumi', 'kimi-k2-5')).resources).toMatchObject({ nodes: 2, gpusPerNode: 8 })
  await expect(planned('juwels', 'glm-5-fp8')).rejects.toThrow('none for')
  await expect(planned('vista', 'vllm_local', { vllmModelPath: 'x/Big-405B' })).rejects.toThrow(
    'x/Big-405B does not fit on 1 GPU of 96 GiB: 405 billion parameters of 16 bits are 754 GiB',
  )
})

/** A launch whose scheduler records its calls in files in its directory. */
async function noted() {
  const dir = mkdtempSync(join(tmpdir(), 'launch-noted-'))
  onTestFinished(() => rmSync(dir, { recursive: true }))
  const facts = 'summary: x\nnodes: 1\ngpus_per_node: 0\ncpus_per_node: 2\ninternet_on_compute_nodes: true\n'
  writeFileSync(join(dir, 'mine.yaml'), `name: mine\nscheduler: ./mine.ts\n${facts}`)
  const example = readFileSync('examples/plugins/scheduler.ts', 'utf8')
  const body = `
    async submit({ job }) { note('submit ' + job.name); return 'id-' + job.name },
    async states() { await globalThis.beforeStates?.(); return [] },
    async cancel(submissions) { note('cancel ' + submissions.map(({ id }) => id).join(' ')) },
  }),
})
function note(line) { appendFileSync(${JSON.stringify(join(dir, 'notes'))}, line + '\\n') }
`
  const head = example.slice(0, example.indexOf('    async submit('))
  writeFileSync(join(dir, 'mine.ts'), `import { appendFileSync } from 'node:fs'\n${head}${body}`)
  const asked = { ...consolidate, dryRun: false, cluster: join(dir, 'mine.yaml'), experimentsDir: join(dir, 'exp') }
  return { asked, notes: () => readFileSync(join(dir, 'notes'), 'utf8').trim().split('\n') }
}

test('of two processes that resume a launch at once, one does', async () => {
  const { asked, notes } = await noted()
  const { experimentsDir } = asked
  await launch(asked)
  const hooks: { beforeStates?: () => Promise<void> } = globalThis as object
  let second: unknown = null
  hooks.beforeStates = async () => {
    delete hooks.beforeStates
    // The first process has looked, and decides what to submit only after this one has finished.
    second = await resumeLaunch({ experimentsDir }).then(
      () => 'submitted',
      (error: unknown) => error,
    )
  }
  onTestFinished(() => void delete hooks.beforeStates)
  await resumeLaunch({ experimentsDir })
  expect(second).toMatchObject({ name: 'UserError' })
  expect(notes()).toEqual(['submit consolidate', 'submit consolidate'])
})
