import { trialStoreLaws } from '../../test/contracts/trial-store.ts'
import { openTrialStore } from './open-store.ts'

trialStoreLaws('Harbor layout', (jobDir) => openTrialStore(jobDir, 'harbor'))
trialStoreLaws('packed', (jobDir) => openTrialStore(jobDir, 'packed'))
