/**
 * The suite "mail": how fast mails go to servers that answer at once or slowly, beside a bare nodemailer pool, how fast answers come in,
 * and what large and hostile messages cost. `--records` is the number of mails of each measurement.
 */
import type { Suite } from '../case.ts'
import { besideSteps } from './beside.ts'
import type { Prepared } from './queueing.ts'
import { hostileSteps, receiveLarge, receiveMany } from './receiving.ts'
import { sendingSteps, timeAnswers, weighSending } from './sending.ts'

const CONTACTS = 100

export const mail: Suite<Prepared> = {
  defaults: { records: 1_000, seconds: 1 },
  async prepare({ key }) {
    const { id: spaceId } = (await key('POST', '/api/spaces/create', { name: 'Sales' })) as { id: number }
    const fields = [{ name: 'Name', type: 'text' }]
    const { id: tableId } = (await key('POST', `/api/space/${spaceId}/tables/create`, { name: 'Contacts', fields })) as { id: number }
    const recordIds: number[] = []
    for (let index = 0; index < CONTACTS; index++) {
      const { id } = (await key('POST', `/api/table/${tableId}/records/create`, { data: { name: `Contact ${index}` } })) as { id: number }
      recordIds.push(id)
    }
    return { spaceId, tableId, recordIds }
  },
  cases: () => [],
  steps: {
    ...sendingSteps,
    answers: { run: timeAnswers },
    inbound: { run: receiveMany },
    large: { run: receiveLarge },
    ...besideSteps,
    ...hostileSteps,
    memory: { run: weighSending },
  },
}
