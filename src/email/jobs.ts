import { type Work, work } from '../work.ts'
import { sendEmail, sendQueued } from './delivery.ts'
import { receive, receiveEmail } from './inbound.ts'

export const emailWorks: Work[] = [work(sendEmail, sendQueued, { concurrency: 4 }), work(receiveEmail, receive)]
