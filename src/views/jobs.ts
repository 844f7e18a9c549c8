import { followAddress } from '../auth/address-change.ts'
import { type Work, work } from '../platform/jobs/worker.ts'
import { followAddressChange } from './addresses.ts'

export const viewWorks: Work[] = [work(followAddress, followAddressChange)]
