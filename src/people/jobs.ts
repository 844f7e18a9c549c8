import { type Work, work } from '../platform/jobs/worker.ts'
import { forget, forgetUser } from './erasure.ts'
import { mailOwnerNotice, sendOwnerNotice } from './owner-notice.ts'

export const peopleWorks: Work[] = [work(forgetUser, forget, { concurrency: 1 }), work(sendOwnerNotice, mailOwnerNotice)]
