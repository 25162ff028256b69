/** Retries of a trial of an evaluation after an infrastructure failure, where neither the request nor a job file names a number. */
export const evaluationRetries = 2
