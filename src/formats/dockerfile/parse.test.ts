import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Instruction } from './instruction.ts'
import { parseDockerfile } from './parse.ts'

const file = 'environment/Dockerfile'

function parse(text: string): readonly Instruction[] {
  return parseDockerfile(`FROM base\n${text}`, file).stages[0]!.instructions
}

function only(text: string): Instruction {
  const instructions = parse(text)
  expect(instructions).toHaveLength(1)
  return instructions[0]!
}

describe('lines', () => {
  test('joins continued lines and drops comments and empty lines between them', () => {
    const text = 'RUN echo a \\\n  # a comment\n\n    && echo b \\  \n&& echo "#c"\n# after\nRUN last'
    expect(parse(text)).toMatchObject([
      { kind: 'run', line: 2, command: { text: 'echo a     && echo b && echo "#c"' } },
      { kind: 'run', line: 8, command: { text: 'last' } },
    ])
  })

  test('an escaped escape does not continue a line', () => {
    expect(parse('RUN a\\\\\nRUN b')).toHaveLength(2)
  })

  test('reads Windows line ends, a byte order mark and lower case', () => {
    const read = parseDockerfile('\uFEFFfrom base\r\nrun a \\\r\n  b\r\n', file)
    expect(read.stages[0]!.instructions).toMatchObject([{ kind: 'run', command: { text: 'a   b' } }])
  })

  test('uses another escape character when the first line says so', () => {
    const read = parseDockerfile('# escape=`\n# syntax=docker/dockerfile:1\nFROM base\nRUN a `\n b\\\nRUN c', file)
    expect(read.escapeChar).toBe('`')
    expect(read.stages[0]!.instructions).toMatchObject([{ command: { text: 'a  b\\' } }, { command: { text: 'c' } }])
  })

  test('a directive below the top is a comment', () => {
    expect(parseDockerfile('# hello\n# escape=`\nFROM base\nRUN a \\\n b', file).stages[0]!.instructions).toHaveLength(
      1,
    )
  })

  test('any way to cut a line with continuations gives the same instruction', () => {
    const piece = fc.stringMatching(/^[a-z0-9 "'$&|;=-]{0,8}$/)
    const gap = fc.constantFrom('\\\n', '\\  \n', '\\\n# note \\\n', '\\\n\n', '\\\r\n', '\\\n   # x\n\n')
    fc.assert(
      fc.property(piece, fc.array(fc.tuple(gap, piece), { maxLength: 6 }), (first, more) => {
        // A line must not start like a comment or be empty, because those are dropped.
        const cut = `RUN x${first}${more.map(([between, text]) => `${between}_${text}`).join('')}`
        const whole = `RUN x${first}${more.map(([, text]) => `_${text}`).join('')}`
        expect(only(cut)).toEqual(only(whole))
      }),
    )
  })
})

describe('heredocs', () => {
  test('keep their lines as they are, comments and escapes included', () => {
    expect(only('RUN <<EOF\n# not a comment\na \\\n\nRUN b\nEOF')).toMatchObject({
      heredocs: [{ name: 'EOF', content: '# not a comment\na \\\n\nRUN b\n', expand: true }],
    })
  })

  test('are not expanded when the name is quoted, and lose tabs with a dash', () => {
    expect(only('COPY <<-"EOF" /x\n\t\ta\n\tb\n\tEOF')).toMatchObject({
      sources: [{ name: 'EOF', content: 'a\nb\n', expand: false }],
      dest: '/x',
    })
  })

  test('may be several, mixed with files', () => {
    expect(only('COPY <<one file <<two /x/\n1\none\n2\ntwo')).toMatchObject({
      sources: [{ name: 'one', content: '1\n' }, 'file', { name: 'two', content: '2\n' }],
    })
  })

  test.each(['RUN cat <<<word', 'RUN echo $((1 << 2))', 'RUN ["sh", "<<EOF"]', 'RUN echo "<<EOF"', 'ENV x=<<EOF'])(
    'are not seen in %s',
    (text) => {
      expect(parse(`${text}\nRUN next`)).toHaveLength(2)
    },
  )

  test('must end', () => {
    expect(() => parse('RUN true\nRUN <<EOF\nx')).toThrow(`${file}:3: EOF: the end of this heredoc is missing`)
  })
})

describe('instructions', () => {
  test.each([
    ['RUN ["a", "b c"]', { form: 'exec', argv: ['a', 'b c'] }],
    ["RUN ['a']", { form: 'shell', text: "['a']" }],
    ['RUN [ -f x ] && y', { form: 'shell', text: '[ -f x ] && y' }],
  ])('%s has its form', (text, command) => {
    expect(only(text)).toMatchObject({ kind: 'run', command })
  })

  test.each([
    [
      'ENV a=1 b="x y" c=x\\ y',
      [
        ['a', '1'],
        ['b', '"x y"'],
        ['c', 'x\\ y'],
      ],
    ],
    ['ENV a  the rest = of it', [['a', 'the rest = of it']]],
    ['ENV a=', [['a', '']]],
    [
      "ENV a='b \"c' d=e",
      [
        ['a', "'b \"c'"],
        ['d', 'e'],
      ],
    ],
  ])('%s has its pairs', (text, pairs) => {
    expect(only(text)).toMatchObject({ kind: 'env', pairs })
  })

  test('ARG takes names with and without defaults', () => {
    expect(only('ARG a b=1')).toMatchObject({
      args: [
        { name: 'a', value: null },
        { name: 'b', value: '1' },
      ],
    })
  })

  test('COPY takes its options in any order and both forms', () => {
    expect(only('COPY --chown=a:b --link --from=x --chmod=755 a b /c/')).toMatchObject({
      sources: ['a', 'b'],
      dest: '/c/',
      from: 'x',
      chown: 'a:b',
      chmod: '755',
      unpack: false,
    })
    expect(only('ADD ["a b", "c"]')).toMatchObject({ sources: ['a b'], dest: 'c', unpack: true })
  })

  test('RUN takes mounts, a network and a double dash', () => {
    expect(only('RUN --mount=type=cache,target=/x --network=none -- apt')).toMatchObject({
      mounts: [{ type: 'cache', options: { target: '/x' } }],
      network: 'none',
      command: { text: 'apt' },
    })
  })

  test('HEALTHCHECK takes its times', () => {
    expect(only('HEALTHCHECK --interval=1m30s --timeout=500ms --retries=5 CMD curl x')).toMatchObject({
      intervalSec: 90,
      timeoutSec: 0.5,
      startPeriodSec: 0,
      startIntervalSec: 5,
      retries: 5,
      command: { text: 'curl x' },
    })
    expect(only('HEALTHCHECK NONE')).toMatchObject({ command: null })
  })

  test.each(['EXPOSE 80', 'LABEL a=b', 'MAINTAINER me', 'STOPSIGNAL 9'])('%s changes nothing', (text) => {
    expect(only(text)).toMatchObject({ kind: 'label' })
  })

  test.each([
    'ONBUILD RUN x',
    'RUN --mount=type=secret,id=x y',
    'RUN --mount=type=ssh y',
    'RUN --security=insecure y',
    'COPY --parents a b',
    'COPY --exclude=*.x a b',
    'ADD --checksum=sha256:1 a b',
  ])('%s is kept as refused', (text) => {
    expect(only(text)).toMatchObject({ kind: 'refused', line: 2 })
  })
})

describe('what is not well-formed throws with its line', () => {
  test.each([
    ['FROM a\nBOGUS x', '2: unknown instruction "BOGUS"'],
    ['RUN x', '1: expected FROM or ARG first, got RUN'],
    ['', '1: there is no FROM instruction'],
    ['# only a comment', '1: there is no FROM instruction'],
    ['FROM a\n'.repeat(1001), '1001: more than 1000 stages'],
    ['FROM', '1: expected FROM image'],
    ['FROM a b', '1: expected FROM image'],
    ['FROM a AS 1x', '1: "1x" cannot name a stage'],
    ['FROM a\n\nRUN', '3: RUN needs an argument'],
    ['FROM a\nCOPY x', '2: COPY needs a source'],
    ['FROM a\nCOPY --wrong x y', '2: COPY has no option --wrong'],
    ['FROM a\nCOPY --chown=a --chown=b x y', '2: COPY --chown occurs twice'],
    ['FROM a\nADD --from=b x y', '2: ADD has no option --from'],
    ['FROM a\nENV novalue', '2: ENV expects name=value'],
    ['FROM a\nENV a=\0--bind', '2: there is a NUL character'],
    ['FROM a\nRUN ["a\\u0000b"]', '2: expected only strings'],
    ['FROM a\nSHELL bash', '2: SHELL expects a JSON array'],
    ['FROM a\nRUN ["a", 1]', '2: expected only strings'],
    ['FROM a\nRUN --mount=type=magic x', '2: RUN --mount=type=magic'],
    ['FROM a\nRUN --network=lan x', '2: RUN --network=lan'],
    ['FROM a\nHEALTHCHECK CMD', '2: HEALTHCHECK CMD needs'],
    ['FROM a\nHEALTHCHECK --interval=soon CMD x', '2: HEALTHCHECK --interval'],
    ['# escape=x\nFROM a', '1: expected escape='],
    ['# syntax=example/other\nFROM a', '1: the syntax "example/other"'],
  ])('%j', (text, message) => {
    expect(() => parseDockerfile(text, file)).toThrow(`${file}:${message}`)
  })

  test('any text is read or refused, never anything else', () => {
    const line = fc.oneof(
      fc.string(),
      fc.constantFrom('FROM a', 'RUN <<EOF', 'EOF', 'COPY a \\', 'ENV a="', '# escape=`', 'ARG ='),
    )
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        try {
          parseDockerfile(lines.join('\n'), file)
        } catch (error) {
          expect(error).toMatchObject({ name: 'BoundaryError', boundary: 'task', retryable: false })
          expect(String(error)).toMatch(/environment\/Dockerfile:\d+: /)
        }
      }),
    )
  })
})
