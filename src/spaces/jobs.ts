import { type Work, work } from '../platform/jobs/worker.ts'
import { mailInvite, sendInvite } from './invites.ts'

export const spaceWorks: Work[] = [work(sendInvite, mailInvite)]
