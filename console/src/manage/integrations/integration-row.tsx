/** A mail server: where it is, who sends through it, and whether it works. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { causeOf } from '../../mail/delivery/error-words.ts'
import { useClient } from '../../session/client.ts'
import { useDatePlace } from '../../session/date-place.ts'
import { messageOf } from '../../session/errors.ts'
import { integrationTexts } from '../../texts/manage/integrations.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { dayWords } from '../../ui/locale/time-words.ts'
import { When } from '../../ui/locale/when.tsx'
import { toast } from '../../ui/toasts/toasts.ts'
import { type Integration, integrationsQuery, type TestResult } from './integrations-query.ts'
import { writtenSender } from './senders.ts'

interface Props {
  integration: Integration
  isJustSaved: boolean
  edit: () => void
  remove: () => void
}

export function IntegrationRow({ integration, isJustSaved, edit, remove }: Props) {
  const { label, host, port, failing, dkim_record } = integration
  const place = useDatePlace()
  const test = useTest(integration, isJustSaved)
  return (
    <li>
      <Icon name={failing ? 'triangle-alert' : 'send'} />
      <div>
        <b dir="auto">{label}</b>
        <p>{integrationTexts.at(host, port)}</p>
        <p className="hint" dir="auto">
          {sendersOf(integration)}
        </p>
        {failing && (
          <p className="problem">
            {integrationTexts.failingSince} <When instant={failing.since} place={place} />. {integrationTexts.failingWhy(failing.message)}
          </p>
        )}
        <output>
          {test.isPending ? <p className="hint">{integrationTexts.testing}</p> : test.data && <Result result={test.data} />}
          {test.error && <p className="problem">{messageOf(test.error)}</p>}
        </output>
        {dkim_record && <DkimRecord record={dkim_record} />}
      </div>
      <div className="thing-actions">
        <button type="button" className="button small" aria-label={integrationTexts.testOf(label)} onClick={() => test.mutate()}>
          {integrationTexts.test}
        </button>
        <button type="button" className="button small" aria-label={integrationTexts.editOf(label)} onClick={edit}>
          {integrationTexts.edit}
        </button>
        <button type="button" className="button small" aria-label={integrationTexts.deleteOf(label)} onClick={remove}>
          {integrationTexts.delete}
        </button>
      </div>
    </li>
  )
}

function sendersOf({ from_identities, from_domains }: Integration): string {
  const known = new Set(from_identities.map(({ email }) => email.split('@')[1]?.toLowerCase()))
  const others = from_domains.filter((domain) => !known.has(domain)).map((domain) => `…@${domain}`)
  const all = [...from_identities.map(writtenSender), ...others]
  return all.length ? integrationTexts.from(all.join(', ')) : integrationTexts.noSenders
}

/** Connects and signs in, without sending a mail. One that was just saved is tested by itself. */
function useTest({ id, space_id, updated_at }: Integration, isJustSaved: boolean) {
  const client = useClient()
  const queries = useQueryClient()
  const test = useMutation({
    mutationFn: () => client.smtp.test.mutate({ id }),
    // A test that succeeds lets waiting mails go on.
    onSettled: () => queries.invalidateQueries({ queryKey: integrationsQuery(client, space_id).queryKey }),
  })
  const tested = useRef('')
  const { mutate } = test
  useEffect(() => {
    if (!isJustSaved || tested.current === updated_at) return
    tested.current = updated_at
    mutate()
  }, [isJustSaved, updated_at, mutate])
  return test
}

function Result({ result: { error } }: { result: TestResult }) {
  const place = useDatePlace()
  if (!error) return <p className="works">{integrationTexts.works}</p>
  const { words, said } = causeOf(error, (day) => dayWords(day, place))
  return (
    <div className="problem">
      <p>{integrationTexts.fails(words)}</p>
      {said && <p className="hint">{integrationTexts.serverSaid(said)}</p>}
    </div>
  )
}

function DkimRecord({ record: { name, type, value } }: { record: NonNullable<Integration['dkim_record']> }) {
  const copy = () => void navigator.clipboard.writeText(value).then(() => toast(integrationTexts.copied))
  return (
    <details className="dkim-record">
      <summary>DKIM</summary>
      <p>{integrationTexts.record}</p>
      <dl>
        <dt>{integrationTexts.recordName}</dt>
        <dd>
          {name} ({type})
        </dd>
        <dt>{integrationTexts.recordValue}</dt>
        <dd>{value}</dd>
      </dl>
      {'clipboard' in navigator && (
        <button type="button" className="button small" onClick={copy}>
          <Icon name="copy" /> {integrationTexts.copyRecord}
        </button>
      )}
    </details>
  )
}
