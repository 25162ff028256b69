// Prints the DeepSpeed settings that a launch writes.
import { deepspeedStages } from '../../../src/formats/llamafactory/accelerate.ts'

console.log(JSON.stringify(deepspeedStages.zero3))
