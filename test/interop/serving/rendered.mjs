// Checks that llama.cpp renders and tokenizes a conversation as the trainer did: rendered.mjs PORT FIRST.json
import { readFileSync } from 'node:fs'

const [port, file] = process.argv.slice(2)
const { messages, tokens: trained } = JSON.parse(readFileSync(file, 'utf8'))
async function ask(path, body) {
  const reply = await fetch(`http://127.0.0.1:${port}/${path}`, { method: 'POST', body: JSON.stringify(body) })
  if (!reply.ok) throw new Error(`${path}: ${reply.status} ${await reply.text()}`)
  return reply.json()
}

const { prompt } = await ask('apply-template', { messages })
const { tokens } = await ask('tokenize', { content: prompt, add_special: true, parse_special: true })
const at = tokens.findIndex((token, i) => token !== trained[i])
if (at !== -1 || tokens.length !== trained.length)
  throw new Error(`${tokens.length} tokens served, ${trained.length} trained on, first difference at ${at}`)
console.log(`${tokens.length} tokens of a prompt are those trained on`)
