// Prints the settings of DeepSpeed that a launch writes.
import { deepspeedStages } from '../../../src/formats/llamafactory/accelerate.ts'

console.log(JSON.stringify(deepspeedStages.zero3))
