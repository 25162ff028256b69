import { expect, test } from 'vitest'
import { isChangeLog } from './test-files.ts'

test.each([
  'CHANGES',
  'docs/changelog.md',
  'HISTORY.rst',
  'NEWS',
  'CHANGES-1.2',
  'src/changes/changes.xml',
  'release_notes.txt',
  "what's new 3.html",
])('%s lists changes', (path) => expect(isChangeLog(path)).toBe(true))

test.each([
  'prompt/history.py',
  'src/main/java/ChangeSet.java',
  'lib/changes.js',
  'news/feed.py',
  'history/README.md',
  'src/newsletter.c',
])('%s is a part of the program, or of something else', (path) => expect(isChangeLog(path)).toBe(false))
