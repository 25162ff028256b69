import { describe, expect, test } from 'vitest'
import { checkDockerfile } from './build-rules.ts'
import { dockerServer, podmanServer } from './server.ts'

const docker = dockerServer('28.0.0')
const oldPodman = podmanServer('4.3.1', '1.28.2')
const newPodman = podmanServer('5.4.0', '1.39.0')
const check = (text: string, server = oldPodman, isPublic = false, args = {}) =>
  checkDockerfile(text.includes('FROM') ? text : `FROM debian:12\n${text}\n`, 'Dockerfile', { server, isPublic, args })

test('an ordinary Dockerfile passes on every engine', async () => {
  const text = [
    '# syntax=docker/dockerfile:1',
    'ARG TAG=12',
    'FROM debian:${TAG} AS build',
    'ARG FILE=a.tar',
    'RUN --network=none make && echo http://127.0.0.1:80',
    'FROM --platform=linux/amd64 localhost:5000/team/image@sha256:0123456789abcdef0123456789abcdef',
    'COPY --from=build --chown=$USER:$USER /a /b',
    'COPY --from=0 /a /b',
    'COPY --from=ghcr.io/astral-sh/uv:0.5 /uv /bin/',
    'ADD files/$FILE other.tar.gz /x/',
    'ADD ["with space.tar", "/x/"]',
    'RUN --mount=type=tmpfs,target=/tmp true',
    'HEALTHCHECK --interval=5s CMD true',
  ].join('\n')
  for (const server of [docker, oldPodman, newPodman]) await check(text, server)
})

test('a very long source takes no longer than other sources', async () => {
  for (const part of ['a', '@']) await check(`FROM debian\nADD ${part.repeat(300_000)} /x`)
})

describe('without network nothing is fetched by the engine, however it is written', () => {
  const sources = [
    'ADD http://127.0.0.1:8080/x /x',
    'add HTTPS://example.org/x /x',
    'ADD "http://example.org/x" /x',
    "ADD 'ht'tp://example.org/x /x",
    'ADD ht\\tp://example.org/x /x',
    'ADD \\\n  ht\\\ntp://example.org/x \\\n /x',
    'ADD ["http://example.org/x", "/x"]',
    'ADD ["\\u0068ttp://example.org/x", "/x"]',
    'ADD ["a","http://example.org/x", "/x"',
    'ADD a.txt http://example.org/x /x/',
    'ADD $URL /x',
    'ADD ${URL:-a} /x',
    'ARG URL=file\nADD $URL /x',
    'ENV URL=http://example.org\nADD ${URL} /x',
    'ADD ht${X}tp://example.org /x',
    'ADD h$X /x',
    'ADD git@example.org:a/b.git /x',
    'ADD git://example.org/a /x',
    'ADD ssh://example.org/a /x',
    'ADD --checksum=sha256:00 https://example.org/x /x',
  ]
  test.each(sources)('%j', async (text) => {
    await expect(check(text)).rejects.toMatchObject({ code: 'EnvironmentBuildError', boundary: 'task' })
  })
})

describe('with network the engine still fetches nothing from inside', () => {
  const hosts = [
    ...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '0', '0.0.0.0', '[::1]', '[::ffff:127.0.0.1]'],
    ...[
      'localhost',
      'LOCALHOST.',
      'a.localhost',
      '10.0.0.1',
      '172.16.5.4',
      '192.168.1.1',
      '169.254.169.254',
      '[fe80::1]',
    ],
    ...['[fd00::1]', 'metadata.google.internal', 'router', 'printer.local', 'user:word@127.0.0.1', '%31%32%37.0.0.1'],
    ...['１２７.0.0.1', '100.100.100.200', '198.18.0.1', '$HOST', 'a$HOST', ''],
  ]
  test.each(hosts)('%s', async (host) => {
    await expect(check(`ADD http://${host}/x /x`, oldPodman, true)).rejects.toThrow(
      /is refused|may need|without variables|must not contain variables/,
    )
    await expect(check(`ADD "https://${host}:8080" /x`, docker, true)).rejects.toThrow('Dockerfile:2')
  })
  test.each(['git@127.0.0.1:a', 'ssh://127.0.0.1/a', 'ftp://example.org/a', '$URL'])('%s', async (source) => {
    await expect(check(`ADD ${source} /x`, oldPodman, true)).rejects.toThrow('is refused')
  })
  test('an address of the internet passes', async () => {
    await check('ADD https://93.184.215.14/file-$VERSION.tar /x', docker, true)
    await check('ADD http://93.184.215.14:80/a.git#main /x', docker, true)
  })
})

describe('mounts and rights that reach the host', () => {
  const always = [
    'RUN --mount=type=secret,id=a true',
    'RUN --mount=type=ssh true',
    'RUN --mount=type=bind,source=../../etc,target=/x true',
    'RUN --mount=type=cache,id=../../../etc,target=/x true',
    'RUN --mount=type=cache,id=a,from=debian,target=/x true',
    'RUN --mount=type=bind,from=dir:/etc,target=/x true',
    'RUN --mount=type=bind,bind-propagation=shared,target=/x true',
    'RUN --mount=type=bind,target=/x,z true',
    'RUN --mount=type=bind,from=$X,target=/x true',
    'RUN --mount="type=cache,id=a b,target=/x" true',
    'RUN --mount=type=tmpfs,type=bind,target=/x true',
    'RUN --mou\\\nnt=type=secret,id=a true',
    'RUN --mount=type=tmpfs,target=/a --mount=type=secret,id=a true',
    'RUN --network=host true',
    'RUN --network="host" true',
    'RUN --security=insecure true',
    'RUN --device=/dev/kvm true',
    'COPY --from=$X /a /b',
    'COPY --from=oci-archive:a.tar /a /b',
    'COPY --from=dir:/etc /a /b',
    'ONBUILD ADD http://127.0.0.1 /x',
    'FROM dir:/etc',
    'FROM oci:layout',
    'FROM docker-archive:x.tar AS a',
    'ARG BASE=tarball:x\nFROM $BASE',
    'FROM containers-storage:x',
    '# syntax=example.org/frontend\nFROM debian',
  ]
  test.each(always)('%j is refused on every engine', async (text) => {
    for (const server of [docker, oldPodman, newPodman])
      await expect(check(text, server, true)).rejects.toMatchObject({ code: 'EnvironmentBuildError', retryable: false })
  })

  test('an image named by an argument of the build is judged as that image', async () => {
    const text = 'ARG BASE=debian\nFROM $BASE\n'
    await check(text)
    await expect(check(text, oldPodman, false, { BASE: 'dir:/etc' })).rejects.toThrow('name of an image')
  })

  const held = [
    'RUN --mount=type=bind,source=a,target=/x true',
    'RUN --mount=target=/x true',
    'RUN --mount=type=bind,from=debian:12,source=/etc,target=/x true',
    'RUN --mount=type=cache,id=pip,target=/root/.cache true',
  ]
  test.each(held)('%j passes only where the builder contains it', async (text) => {
    await check(text, newPodman)
    await expect(check(text)).rejects.toThrow('podman 4.3.1 with Buildah 1.28.2 cannot contain it')
    await expect(check(text, docker)).rejects.toThrow('docker 28.0.0 cannot contain it')
  })

  test('the content of a heredoc is instructions to a builder that does not know heredocs', async () => {
    const text = 'RUN <<CMD\nADD http://127.0.0.1/x /x\nCMD'
    await check(text, newPodman)
    await expect(check(text)).rejects.toThrow('heredocs are not read by podman 4.3.1')
    await expect(check(text, docker)).rejects.toThrow('heredocs are not read by docker 28.0.0')
  })
})

test('versions are compared by their numbers, and an unknown one counts as old', () => {
  const holds = (buildah: string) => podmanServer('x', buildah).holdsMounts
  expect(['1.38.1', '1.38.10', '1.40.0', '2.0.0', 'v1.39.0'].map(holds)).toEqual([true, true, true, true, true])
  expect(['1.38.0', '1.9.9', '1.28.2+ds1', 'unknown', '', '1.38.1-rc1'].map(holds)).toEqual(Array(6).fill(false))
  expect(dockerServer('20.10.24+dfsg1').cannotClose).toBeNull()
  expect(dockerServer('19.03.15').cannotClose).toContain('docker 20.10.0 and later')
})
