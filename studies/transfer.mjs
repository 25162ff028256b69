// Makes new tasks, like or unlike those that students of these studies are trained on:
//
//   node studies/transfer.mjs VARIANT OUT
//
// The tasks are in OUT/tasks. The variants are those of transfer.yaml.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const [variant, out] = process.argv.slice(2)
const here = import.meta.dirname
const [known, others] = [
  'archives,checksums,clinic,config,dates,docs,encoding,energy,farming,files,inventory,library,links,network,payroll,permissions,sales,school,scripts,sensors,text,tickets,transport',
  'accounts,builds,http,logs,migrations,processes,queues,schedules,sockets,stores',
]
const unseen = 'flatten,rank-in-group,dead-references,pivot-count,render-template'
const usual = ['--domains', known, '--without', unseen]

/** `as-made` and `reworded` make 200 tasks, of which 100 have other words. */
const sources = {
  'as-made': [...usual, '--first', '9000', '--count', '200'],
  reworded: [...usual, '--first', '9000', '--count', '200'],
  'longer-names': [...usual, '--first', '12000', '--count', '100'],
  'other-kinds': ['--domains', known, '--operations', unseen, '--first', '9000', '--count', '100'],
  'other-subjects': ['--domains', others, '--first', '9000', '--count', '100'],
}

const program = join(here, '../bin/ot-agent.js')
const words = ['generate', join(here, '../data/terminal-composer/generate.ts'), ...sources[variant]]
run(program, ...words, '--no-check', '--overwrite', '--output-dir', out)
if (variant === 'as-made' || variant === 'reworded') run(join(here, 'reword.mjs'), join(out, 'tasks'), variant)

function run(...words) {
  execFileSync(process.execPath, words, { stdio: 'inherit' })
}
