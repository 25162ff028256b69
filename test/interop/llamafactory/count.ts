import { loadModelTokenizer, readTokenizerFiles } from '../../../src/formats/chat-template.ts'
import { encodedLength, toTrainingRow } from '../../../src/formats/llamafactory/encode-row.ts'
import { chatTemplates } from '../../../src/formats/llamafactory/known-keys.ts'
import { findDataset } from '../../../src/formats/sft-dataset/find-dataset.ts'

// count.ts MODEL DATASET: the preflight's token counts for a dataset's rows, one line of JSON for each row and
// encoding.
const [, , model = '', asked = ''] = process.argv
const files = await readTokenizerFiles(model)
if (files === null) throw new Error(`no tokenizer in ${model}`)
const { count, bosToken } = await loadModelTokenizer(files)
const search = { asked, place: asked, datasetDir: null, hints: {}, rows: 200, hub: null, mayBeMissing: false }
const { datasets } = await findDataset(search)
for (const { sample, shape } of datasets)
  for (const each of sample?.rows ?? []) {
    const row = toTrainingRow(each, shape)
    if (row === null) continue
    for (const name of ['qwen3_nothink', 'qwen3', 'llama3'])
      for (const maskHistory of [false, true])
        for (const cutoffLen of [1_000_000, 2048, 300]) {
          const template = chatTemplates[name]
          if (template === undefined) throw new Error(`no template ${name}`)
          const ways = { template, cutoffLen, maskHistory, trainOnPrompt: false, hasBos: bosToken !== '', count }
          const { tokens, trainable } = encodedLength(row, ways)
          console.log(JSON.stringify({ ...row, template: name, cutoffLen, maskHistory, tokens, trainable }))
        }
  }
