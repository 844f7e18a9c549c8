/** The mail as it would go now, made by the service. Loaded when it is opened. */
import { useQuery } from '@tanstack/react-query'
import { useClient } from '../../session/client.ts'
import { useDatePlace } from '../../session/date-place.ts'
import { messageOf } from '../../session/errors.ts'
import { composerTexts } from '../../texts/mail/composer.ts'
import { DialogBox } from '../../ui/dialog-box.tsx'
import { timesOf } from '../delivery/times.ts'
import type { MailFile, NewEmail } from '../draft/mail-draft.ts'
import { warningsOf } from '../sending/warnings.ts'
import { HtmlFrame } from './html-frame.tsx'

interface Props {
  input: NewEmail
  files: readonly MailFile[]
  close(): void
}

export function PreviewDialog({ input, files, close }: Props) {
  const client = useClient()
  const { data, error } = useQuery({
    queryKey: ['mail', 'preview', input],
    queryFn: () => client.email.preview.query(input),
    ...{ staleTime: 0, gcTime: 0, refetchOnWindowFocus: false, retry: false },
  })
  const recipients = [...input.to, ...(input.cc ?? []), ...(input.bcc ?? [])]
  const place = useDatePlace()
  const warnings = data && warningsOf(data.problems, recipients, timesOf(place).day)
  return (
    <DialogBox title={composerTexts.preview} close={close} isWide>
      {!data && !error && <p>{composerTexts.previewLoading}</p>}
      {error && (
        <p className="problem" role="alert">
          {messageOf(error)}
        </p>
      )}
      {data && (
        <div className="mail-preview">
          <p className="mail-preview-subject">{data.subject || composerTexts.noSubject}</p>
          <p className="muted">{composerTexts.previewOf(recipients.join(', '))}</p>
          {warnings ? (
            <div className="mail-note warning">
              <p>{composerTexts.checks}</p>
              <ul>
                {warnings.words.map((problem) => (
                  <li key={problem}>{problem}</li>
                ))}
              </ul>
            </div>
          ) : (
            <p className="muted">{composerTexts.nothingToCheck}</p>
          )}
          <HtmlFrame html={data.html} title={composerTexts.previewFrame} className="mail-frame" />
          {files.length > 0 && <p className="muted">{files.map(({ name }) => name).join(', ')}</p>}
        </div>
      )}
    </DialogBox>
  )
}
