// Prints the settings of DeepSpeed that a launch writes.
import { deepspeedStages } from '../../../src/formats/llamafactory/deepspeed.ts'

console.log(JSON.stringify(deepspeedStages.zero3))
