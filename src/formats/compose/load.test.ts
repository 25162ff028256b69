// biome-ignore-all lint/suspicious/noTemplateCurlyInString: compose fills these in.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { loadCompose } from './load.ts'

const root = mkdtempSync(join(tmpdir(), 'ot-compose-format-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
mkdirSync(join(root, 'data'))
writeFileSync(join(root, 'words.env'), '# a comment\nA=1\nexport B="two words"\n')
symlinkSync('/etc', join(root, 'out'))

async function load(text: string, variables = {}) {
  writeFileSync(join(root, 'docker-compose.yaml'), text)
  return loadCompose(root, variables)
}
const main = (keys: string) => `services:\n  main:\n    image: x\n    ${keys}\n`

test('no file is no compose file', async () => {
  expect(await loadCompose(join(root, 'data'), {})).toBeNull()
})

test('reads services, fills in variables of its own only, and notes what is left out', async () => {
  process.env.OT_COMPOSE_SECRET = 'host'
  const file = await load(
    `
x-common: &common { restart: "no" }
services:
  main:
    <<: *common
    build: { context: "\${CONTEXT_DIR}", args: [N=1] }
    command: sh -c "echo 'a b' \\"c\\"" d\\ e
    environment: { ONE: "\${ONE}", SECRET: "\${OT_COMPOSE_SECRET}", D: "$$x", E: "\${NO:-\${ONE}}", N: 3 }
    env_file: words.env
    ports: ["1:1"]
    deploy: { resources: { limits: { cpus: "0.5", memory: 64M } } }
    volumes: ["v:/v:ro", "./data:/d", "/anon", { type: tmpfs, target: /t }]
  other: { image: "other:\${TAG-latest}", cap_add: [CAP_SYS_PTRACE], network_mode: "service:main" }
volumes: { v: , unused: { driver: local } }
networks: { inner: { driver: bridge } }
`,
    { CONTEXT_DIR: root, ONE: '1' },
  )
  Reflect.deleteProperty(process.env, 'OT_COMPOSE_SECRET')
  expect(file?.services.main).toEqual({
    image: undefined,
    build: { context: root, dockerfile: 'Dockerfile', args: { N: '1' }, target: undefined },
    entrypoint: undefined,
    command: ['sh', '-c', 'echo \'a b\' "c"', 'd e'],
    environment: { A: '1', B: 'two words', ONE: '1', SECRET: '', D: '$x', E: '1', N: '3' },
    mounts: [
      { kind: 'volume', name: 'v', target: '/v', readOnly: true },
      { kind: 'files', source: join(root, 'data'), target: '/d', readOnly: false },
      { kind: 'anonymous', target: '/anon' },
      { kind: 'tmpfs', target: '/t' },
    ],
    networkMode: undefined,
    rest: { restart: 'no', cpus: 0.5, mem_limit: '64M' },
  })
  expect(file?.services.other).toMatchObject({ image: 'other:latest', networkMode: 'service:main' })
  expect(file?.services.other?.rest).toEqual({ cap_add: ['SYS_PTRACE'] })
  expect(file).toMatchObject({ networks: { inner: {} }, volumes: ['v'] })
  expect(file?.notes).toEqual(['the ports of service main are not published on the host'])
})

test.each([
  'privileged: true',
  'privileged: "${X:-true}"',
  'pid: host',
  'ipc: host',
  'network_mode: host',
  'network_mode: "container:else"',
  'userns_mode: host',
  'cgroup_parent: /',
  'devices: [/dev/sda]',
  'cap_add: [SYS_ADMIN]',
  'cap_add: [ALL]',
  'security_opt: ["seccomp=unconfined"]',
  'volumes: ["/:/host"]',
  'volumes: ["${X:-/}:/host"]',
  'volumes: ["../..:/host"]',
  'volumes: ["./out:/host"]',
  'volumes: ["./out/passwd:/host"]',
  'volumes: ["~/.ssh:/host"]',
  'volumes: [{ type: bind, source: /etc, target: /host }]',
  'volumes: ["undeclared:/x"]',
  'build: ..',
  'build: { context: ., dockerfile: ../../Dockerfile }',
  'build: { context: ., network: host }',
  'build: { context: ., ssh: [default] }',
  'build: https://example.org/x.git',
  'env_file: ../secret.env',
  'env_file: out/passwd',
  'extends: { file: /etc/x.yaml, service: y }',
  'external_links: [else]',
  'runtime: other',
  'secrets: [s]',
  'configs: [c]',
  'volumes_from: [x]',
  'develop: {}',
  'gpus: all',
])('refuses %s, by name', async (keys) => {
  const error = await load(main(keys)).catch((error: unknown) => error)
  expect(error).toBeInstanceOf(Error)
  expect(String(error)).toMatch(/docker-compose\.yaml: services\.main\./)
})

test.each([
  'services: { other: { image: x } }',
  'services: { main: { image: x } }\nsecrets: { s: { file: /etc/shadow } }',
  'services: { main: { image: x } }\ninclude: [/etc/x.yaml]',
  'services: { main: { image: x } }\nvolumes: { v: { driver_opts: { type: none, o: bind, device: / } } }',
  'services: { main: { image: x } }\nvolumes: { v: { external: true } }',
  'services: { main: { image: x } }\nnetworks: { n: { external: true } }',
  'services: { main: { image: x } }\nnetworks: { n: { driver: host } }',
  'services: { main: { image: x } }\nnetworks: { n: { ipam: { config: [{ subnet: 10.0.0.0/8 }] } } }',
  'services: { main: { image: "${X:?is needed}" } }',
  '- a list',
  'services: [',
])('refuses %s', async (text) => {
  await expect(load(text)).rejects.toThrow('docker-compose.yaml: ')
})
