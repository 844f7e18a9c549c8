/** What failure messages say about a mail to Ann and Bob. */
import { expect } from 'vitest'
import { readMessage } from '../../src/email/mime/message.ts'
import { bounceCause } from '../../src/email/reports/bounce-cause.ts'
import { deliveryReport } from '../../src/email/reports/delivery-report.ts'
import type { ReportedRecipient } from '../../src/email/reports/report.ts'
import { reportedAbout } from '../../src/email/reports/report-scope.ts'

export const MAIL = {
  messageId: '<offer-1@example.com>',
  recipients: [{ email: 'Ann@customer.example' }, { email: 'bob@customer.example' }],
}
export const TO_ANN = { ...MAIL, recipients: MAIL.recipients.slice(0, 1) }

export async function reportedIn(raw: Buffer, mail = MAIL): Promise<Map<string, ReportedRecipient>> {
  const report = deliveryReport(await readMessage(raw), raw)
  return report ? reportedAbout(report, mail) : new Map()
}

/** The action, the codes and the kind for Ann's address, which is the only one that the message may be about. */
export async function saidOfAnn(raw: Buffer, mail = MAIL): Promise<string | undefined> {
  const found = await reportedIn(raw, mail)
  const ann = found.get('ann@customer.example')
  expect([...found.keys()]).toEqual(ann ? ['ann@customer.example'] : [])
  return ann && [ann.action, ann.code, ann.status, bounceCause(ann).kind, bounceCause(ann).reason].join(' · ')
}
