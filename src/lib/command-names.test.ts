import fc from 'fast-check'
import { expect, test } from 'vitest'
import { commandNames } from './command-names.ts'

test.each([
  ['ls -la /app', ['ls']],
  ['cd /app && make -j4 2>&1 | tail -n 5; echo done', ['cd', 'make', 'tail', 'echo']],
  ['FOO=1 BAR="a b" python3 x.py', ['python3']],
  ['sudo -E apt-get update', ['sudo', 'apt-get']],
  ['timeout 30s ./run.sh > out.txt', ['timeout', 'run.sh']],
  ["cat > a.py << 'EOF'\nimport os; rm -rf\nEOF\npython a.py\n", ['cat', 'python']],
  ['cat <<-X && ls\nbody\n\tX\nwc a', ['cat', 'ls', 'wc']],
  ['for f in *.c; do gcc "$f"; done', ['gcc']],
  ['if [ -f a ]; then grep "x; y" a; fi', ['[', 'grep']],
  ['x=$(git rev-parse HEAD)', ['git']],
  ['echo "rm; ls | wc" # && make', ['echo']],
  ['find . -name a \\\n  -print | xargs -n 1 rm', ['find', 'xargs', 'rm']],
  ['cmd &> /dev/null &', ['cmd']],
  ['cat <<< text', ['cat']],
  ['/usr/bin/env bash -c "ls"', ['env', 'bash']],
  ['', []],
  ['   ', []],
  ["echo 'open", ['echo']],
])('%j calls %j', (script, names) => {
  expect(commandNames(script)).toEqual(names)
})

test('no text makes it fail, and no name is long or holds a blank', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'ab <>&|;"\'\\\n$()`#=-/EOF') }), (script) => {
      for (const name of commandNames(script)) expect(name).toMatch(/^[\w.[+-]{1,40}$/)
    }),
  )
})
