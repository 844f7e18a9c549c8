import { type Work, work } from '../work.ts'
import { mailInvite, sendInvite } from './invites.ts'

export const spaceWorks: Work[] = [work(sendInvite, mailInvite)]
