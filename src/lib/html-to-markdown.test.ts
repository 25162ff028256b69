import fc from 'fast-check'
import { expect, test } from 'vitest'
import { htmlToMarkdown } from './html-to-markdown.ts'

test.each([
  ['<p>one\n two</p><p>three</p>', 'one two\n\nthree'],
  ['<p>use <code>a `b`</code> &amp; <strong>c</strong></p>', 'use `` a `b` `` & **c**'],
  ['<p>2<sup>32</sup>, x<sub>i</sub>, <code>2<sup>n+1</sup></code>, <sup></sup>a<sup>2', '2^32, x_i, `2^(n+1)`, a^2'],
  ['<ul><li>one</li><li><p>two</p></li></ul><p>end</p>', '- one\n- two\n\nend'],
  ['<ol start="3"><li>one</li><li>two</li></ol>', '3. one\n4. two'],
  ['<blockquote><p>said</p></blockquote><p>so</p>', '> said\n\nso'],
  ['<h2>Title</h2><hr><a href="https://a.example/x">here</a>', '## Title\n\n---\n\nhere (https://a.example/x)'],
  ['<a href="javascript:alert(1)">x</a><script>evil()</script><style>p{}</style>', 'x'],
  ['<p>a<br>b</p><img src="x.png" alt="a tree">', 'a\nb\n\n[image: a tree]'],
  ['<p>&quot;caf&eacute;&quot; &amp;lt; a & b &#x2014; it&#39;s</p>', '"café" &lt; a & b — it\'s'],
  ['<a href="https://a.example/?x=1&amp;y=2">q</a><img alt="&lt;3">', 'q (https://a.example/?x=1&y=2)[image: <3]'],
  ['<p>unclosed <b>bold', 'unclosed **bold**'],
  ['', ''],
])('%s', (html, text) => {
  expect(htmlToMarkdown(html).text).toBe(text)
})

test('code keeps every space, its language and the words before it', () => {
  const { text, code } = htmlToMarkdown(
    '<p>Output:</p>\n<pre class="lang-sh s-code-block"><code>a  b\n\n  if x &lt; 1; then\n</code></pre><p>done</p>',
  )
  expect(code).toEqual([{ text: 'a  b\n\n  if x < 1; then', language: 'sh', before: 'Output:' }])
  expect(text).toBe('Output:\n\n```sh\na  b\n\n  if x < 1; then\n```\n\ndone')
})

test('a block that holds a fence gets a longer one', () => {
  expect(htmlToMarkdown('<pre>```\nx\n```</pre>').text).toBe('````\n```\nx\n```\n````')
})

test('very many blanks take no longer than other text', () => {
  const blanks = ' \t'.repeat(1 << 17)
  expect(htmlToMarkdown(`<pre>a${blanks}b</pre>`).code.map(({ text }) => text)).toEqual([`a${blanks}b`])
  expect(htmlToMarkdown(`<p>x<code>a${blanks}b\n  c</code></p>`).text).toBe(`x\`a${blanks}b c\``)
  expect(htmlToMarkdown(`<p>a<code>${blanks}x</code><br>  b</p>`).text).toBe(`a\`${blanks}x\`\nb`)
})

test('any code comes back unchanged', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('a', '<', '&', '`', ' ', '\n', '"', 'ü') }), (code) => {
      const escaped = code.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
      const wanted = code.replace(/^\n+|\s+$/g, '')
      expect(htmlToMarkdown(`<pre><code>${escaped}</code></pre>`).code.map(({ text }) => text)).toEqual(
        wanted === '' ? [] : [wanted],
      )
    }),
  )
})
