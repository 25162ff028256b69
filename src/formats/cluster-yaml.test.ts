import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { UserError } from '../core/errors.ts'
import { detectCluster, parseClusterYaml } from './cluster-yaml.ts'

const clusters = readdirSync('clusters').map((file) => {
  const path = join('clusters', file)
  return { file, cluster: parseClusterYaml(readFileSync(path, 'utf8'), path) }
})
const all = clusters.map(({ cluster }) => cluster)

test('every cluster is read, and called what its file is called', () => {
  expect(clusters.filter(({ file, cluster }) => file !== `${cluster.name}.yaml`)).toEqual([])
  expect(all.length).toBeGreaterThanOrEqual(17)
})

test.each([
  ['login3.vista.tacc.utexas.edu', 'vista'],
  ['login1.ls6.tacc.utexas.edu', 'lonestar'],
  ['jrlogin05.jureca', 'jureca'],
  ['jwlogin22.juwels', 'juwels'],
  ['jpbl-s01-02.jupiter.internal', 'jupiter'],
  ['login02.leonardo.local', 'leonardo'],
  ['c2', 'capella'],
  ['login1.alpha.hpc.tu-dresden.de', 'alpha'],
  ['dip.tu-dresden.de', 'dip'],
  ['lrz-login', 'lrz'],
  ['login23-g-1.hpc.itc.rwth-aachen.de', 'claix'],
  ['log-2.hpc.nyu.edu', 'nyugreene'],
  ['torch-login-1.hpc.nyu.edu', 'nyutorch'],
  ['oumi-login1', 'oumi'],
  ['login07.perlmutter.nersc.gov', 'perlmutter'],
  ['login10.frontier.olcf.ornl.gov', 'frontier'],
])('%s is a login node of %s', (host, name) => {
  expect(detectCluster(all, host, {})?.name).toBe(name)
})

test('a variable identifies a cluster that host names do not, and a laptop is none', () => {
  expect(detectCluster(all, 'login07', { NERSC_HOST: 'perlmutter' })?.name).toBe('perlmutter')
  expect(detectCluster(all, 'c3po-laptop', {})).toBeUndefined()
})

test.each([
  ['name: x\nsumary: y', 'did you mean summary?'],
  ['name: [', 'launch cluster init'],
  ['name: x\nsummary: y\nnodes: many', 'docs/guides/launch.md'],
])('%j is refused with a cure', (source, hint) => {
  const refuse = () => parseClusterYaml(source, 'clusters/x.yaml')
  expect(refuse).toThrow(UserError)
  expect(refuse).toThrow(/^clusters\/x\.yaml/)
  try {
    refuse()
  } catch (error) {
    expect((error as UserError).hint).toContain(hint)
  }
})
