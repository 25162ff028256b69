import { expect, test } from 'vitest'
import { differenceOf, rules } from './compare-text.ts'

const before = new Date('2026-11-15T21:00:00Z')
const now = new Date('2026-12-02T08:30:00Z')
const differs = (recorded: string, received: string) =>
  differenceOf({ text: recorded, at: before }, { text: received, at: now })

test.each([
  ['uuid', 'session 0b1f8c1e-92aa-4f0e-8d4c-0123456789ab', 'session 7d0c91ee-1111-4f0e-8d4c-ba9876543210'],
  ['key', 'OPENAI_API_KEY=sk-trial-abc', 'OPENAI_API_KEY=sk-trial-d_e-f'],
  ['home', 'cd /opt/ot-agent-homes/0a1b2c3d/x', 'cd /opt/ot-agent-homes/ffffffff/x'],
  ['temp', 'made /tmp/tmp.aB3dE5fG7h and /tmp/tmpab12_xyz', 'made /tmp/tmp.0000000000 and /tmp/tmpzz34_abc'],
  [
    'file-time',
    'drwxr-xr-x  2 root root 4096 Jan  3 09:00 src\n-rw-r--r-- 1 root root 1.2K 2020-01-01 10:00 a',
    'drwxr-xr-x  2 root root 4096 Dec  2  2021 src\n-rw-r--r-- 1 root root 1.2K 2026-12-02 08:30 a',
  ],
  ['clock', 'at 2026-11-15T20:59:58.123Z', 'at 2026-12-02T08:30:01.9Z'],
  ['clock', 'Sun Nov 15 21:00:14 UTC 2026', 'Wed Dec  2 08:30:02 UTC 2026'],
  ['clock', "Today's date is Sunday, November 15, 2026.", "Today's date is Wednesday, December 2, 2026."],
  ['clock', 'today: 11/15/2026', 'today: 12/2/2026'],
  ['clock', '[2026-11-15 21:00:05,123] INFO', '[2026-12-02 08:30:09,456] INFO'],
  ['time-of-day', ' 21:03:11 up 2 min', ' 08:31:10 up 2 min'],
  ['epoch', 'seed 1794776400', 'seed 1796200200'],
  ['epoch', '{"t":1794776400123}', '{"t":1796200200999}'],
  ['duration', 'real\t0m1.204s', 'real\t0m0.031s'],
  ['duration', '1 passed in 0.12s', '1 passed in 2s'],
  ['duration', 'Wall time: 0.2 seconds', 'Wall time: 1 second'],
  ['duration', 'done in 12ms', 'done in 340ms'],
  ['rate', '10 bytes copied, 0.1 s, 1.2 kB/s', '10 bytes copied, 0.01 s, 12 kB/s'],
  ['time-left', 'Time left for this task: 893 seconds.', 'Time left for this task: 899 seconds.'],
  ['job', 'x &\n[1] 4711\n$', 'x &\n[1] 93\n$'],
  ['pid', 'listening, pid 4711', 'listening, pid 12'],
  ['process', ' 4711 pts/0    00:00:00 bash', '   12 pts/0    00:00:00 bash'],
  ['process', 'root      4711  0.0  0.1   4624  3840 sh', 'root        12  0.0  0.1   4624  3840 sh'],
  ['processes', 'dr-xr-xr-x 186 root root    0 Nov 15 21:00 proc', 'dr-xr-xr-x 149 root root    0 Dec  2 08:30 proc'],
  [
    'processes',
    'dr-xr-xr-x 191 nobody nogroup    0 Nov 15 21:00 proc',
    'dr-xr-xr-x 205 nobody nogroup    0 Dec  2 08:30 proc',
  ],
  [
    'padding',
    'drwxr-xr-x   1 root root 4096 Nov 15 21:00 .\ndr-xr-xr-x 100 root root    0 Nov 15 21:00 proc',
    'drwxr-xr-x  1 root root 4096 Dec  2 08:30 .\ndr-xr-xr-x 99 root root    0 Dec  2 08:30 proc',
  ],
  ['chunk', 'Chunk ID: 64bace\nOutput:', 'Chunk ID: 50eebf\nOutput:'],
  ['address', '<object at 0x7f3a1c2b3d40>', '<object at 0x7ffffe001234>'],
  ['port', 'http://127.0.0.1:40123/v1', 'http://127.0.0.1:51999/v1'],
  [
    'progress',
    'Rewrite 725f2b702af60e6f880ef2f96d1163f634da6a1d (8/9) (1 seconds passed, remaining 0 predicted)',
    'Rewrite 0f5f2b702af60e6f880ef2f96d1163f634da6a10 (9/9) (0 seconds passed, remaining 0 predicted)',
  ],
  [
    'commit',
    '[main (root-commit) 1a2b3c4] first\ncommit 0123456789012345678901234567890123456789',
    '[main (root-commit) 9f8e7d6] first\ncommit abcdefabcdefabcdefabcdefabcdefabcdefabcd',
  ],
])('%s may differ from run to run', (kind, recorded, received) => {
  expect(rules.map((rule) => rule.kind)).toContain(kind)
  expect(differs(recorded, received)).toBeNull()
})

test('every rule is shown above to do something, and has a reason', () => {
  for (const { why } of rules) expect(why).not.toBe('')
})

test("a machine's name in a prompt may differ, and so may the name elsewhere", () => {
  expect(
    differs('root@a1b2c3d4e5f6:/app# hostname\na1b2c3d4e5f6', 'root@0f0f0f0f0f0f:/app# hostname\n0f0f0f0f0f0f'),
  ).toBeNull()
  expect(differs('root@a1b2:/app# cat f\nx', 'root@0f0f:/app# cat f\ny')).not.toBeNull()
  expect(differs('mail me@example.com now', 'mail me@example.org now')).not.toBeNull()
})

test.each([
  ['a word', 'hello world', 'hello there'],
  ['a number', '42 lines', '43 lines'],
  ['a date that has nothing to do with the run', 'born 1985-03-01', 'born 1985-03-02'],
  ['a date of the recording in place of one of the replay', 'due 2026-11-15', 'due 2024-01-01'],
  ['a digest', 'd41d8cd98f00b204e9800998ecf8427e  f', '0cc175b9c0f1b6a831c399e269772661  f'],
  ['a short hexadecimal number', '1a2b3c4 file', '9f8e7d6 file'],
  ['a whole number of seconds', 'timeout 30 seconds', 'timeout 60 seconds'],
  ['a time of day far from the run', 'opens at 09:00:00', 'opens at 17:00:00'],
  ['a well-known port', 'localhost:8080', 'localhost:9090'],
  ['a name under /tmp that was chosen', '/tmp/results.json', '/tmp/answers.json'],
  ['the size of a file', '-rw-r--r-- 1 root root 10 Nov 15 21:00 f', '-rw-r--r-- 1 root root 11 Dec  2 08:30 f'],
  ['a mode', '-rw-r--r-- 1 root root 10 Nov 15 21:00 f', '-rwxr-xr-x 1 root root 10 Dec  2 08:30 f'],
  ['a line more', 'a\nb', 'a\nb\nc'],
  ['white space', 'a b', 'a  b'],
  ['a clock in place of a word', 'at 2026-11-15', 'at midnight'],
  ['an empty text', 'x', ''],
])('%s is a real difference', (_, recorded, received) => {
  expect(differs(recorded, received)).not.toBeNull()
  expect(differs(received, recorded)).not.toBeNull()
})

test('a difference is shown with its context', () => {
  const lines = (last: string) => `${'x'.repeat(200)}\nreal 0m0.1s\nanswer: ${last}\n${'y'.repeat(300)}`
  const found = differs(lines('42'), lines('43'))
  expect(found?.expected).toMatch(/^\.\.\.x.*answer: 42\ny+\.\.\.$/s)
  expect(found?.got).toContain('answer: 43')
})

test('a text made to be slow is compared quickly', () => {
  for (const part of ['1 ', '-', 'a@', '/tmp/', '0', ' ', ':00', 'Sun '])
    expect(differs(part.repeat(60_000), `${part.repeat(60_000)}!`)).not.toBeNull()
  const hosts = Array.from({ length: 30_000 }, (_, i) => `u@host-${i}:~$\n`).join('')
  expect(differs(hosts, `${hosts}!`)).not.toBeNull()
})
