/** The files of a mail: those that are there, those on their way, and where more come from. */
import { useId, useRef, useState } from 'react'
import { sizeText } from '../../cells/file-facts.ts'
import { isFile, valuesOf } from '../../cells/values.ts'
import type { RecordPlace } from '../../record/record-parts.ts'
import { composerTexts } from '../../texts/mail/composer.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import type { MailFile } from '../draft/mail-draft.ts'
import type { Upload } from './use-attachments.ts'

interface Props {
  place: RecordPlace
  files: readonly MailFile[]
  sending: readonly Upload[]
  problem: string | undefined
  add(files: readonly File[]): void
  /** Changes the files as they are at this moment: one may have come since they were shown. */
  change(next: (files: readonly MailFile[]) => readonly MailFile[]): void
}

export function Attachments({ place, files, sending, problem, add, change }: Props) {
  const chooser = useRef<HTMLInputElement>(null)
  const own = recordFiles(place).filter(({ path }) => !files.some((file) => file.path === path))
  return (
    <div className="mail-files">
      {(files.length > 0 || sending.length > 0) && (
        <ul aria-label={composerTexts.attachments}>
          {files.map((file) => (
            <li key={file.path} className="mail-file">
              <Icon name="paperclip" />
              <span className="mail-file-name">{file.name}</span>
              <span className="muted">{sizeText(file.size, navigator.language)}</span>
              <RemoveButton name={file.name} run={() => change((all) => all.filter(({ path }) => path !== file.path))} />
            </li>
          ))}
          {sending.map((upload) => (
            <li key={upload.key} className="mail-file">
              <span className="mail-file-name">{upload.name}</span>
              {upload.problem === null ? (
                <progress value={upload.sent} aria-label={composerTexts.uploading(upload.name, Math.round(upload.sent * 100))} />
              ) : (
                <span className="problem" role="alert">
                  {upload.problem}
                </span>
              )}
              <RemoveButton name={upload.name} run={upload.stop} />
            </li>
          ))}
        </ul>
      )}
      {problem && <p className="problem">{problem}</p>}
      <div className="mail-file-ways">
        <input
          ref={chooser}
          type="file"
          multiple
          hidden
          aria-label={composerTexts.attach}
          onChange={({ target }) => {
            add([...(target.files ?? [])])
            target.value = ''
          }}
        />
        <button type="button" className="button quiet small" onClick={() => chooser.current?.click()}>
          <Icon name="paperclip" />
          {composerTexts.attach}
        </button>
        {own.length > 0 && <RecordFiles files={own} choose={(file) => change((all) => [...all, file])} />}
      </div>
    </div>
  )
}

function RemoveButton({ name, run }: { name: string; run(): void }) {
  return (
    <button type="button" className="button quiet icon-only small" aria-label={composerTexts.remove(name)} onClick={run}>
      <Icon name="x" />
    </button>
  )
}

function RecordFiles({ files, choose }: { files: readonly MailFile[]; choose(file: MailFile): void }) {
  const id = useId()
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" className="button quiet small" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)}>
        {composerTexts.fromRecord}
        <Icon name={isOpen ? 'chevron-up' : 'chevron-down'} />
      </button>
      <ul id={id} className="mail-record-files" hidden={!isOpen}>
        {files.map((file) => (
          <li key={file.path}>
            <button type="button" className="button quiet small" onClick={() => choose(file)}>
              <Icon name="plus" />
              {file.name} <span className="muted">{sizeText(file.size, navigator.language)}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  )
}

/** The files in the cells of the record. */
function recordFiles({ record, definition }: RecordPlace): MailFile[] {
  const files = definition.table.fields.flatMap(({ id }) => valuesOf(record.values[id], isFile))
  return files.map(({ name, path, size, type }) => ({ name, path, size, type }))
}
