/** The files of a field with their previews: they are dropped, pasted and chosen, opened, downloaded and removed, each stored at once. */
import { useEffect, useId, useRef } from 'react'
import { type Sending, useUploads } from '../../cells/editors/use-uploads.ts'
import { fileAddress, hasThumbnail, sizeText, thumbnailAddress } from '../../cells/file-facts.ts'
import type { StoredFile, Value } from '../../cells/kind.ts'
import { isFile, valuesOf } from '../../cells/values.ts'
import { cellTexts } from '../../texts/cells.ts'
import { recordTexts } from '../../texts/record/record.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import type { FieldProps } from './field-props.ts'
import './files.css'

interface Props extends FieldProps {
  value: Value
  isEditable: boolean
}

export function FilesField({ field, value, surroundings, isEditable, stored, dropped }: Props) {
  const labelId = useId()
  const chooser = useRef<HTMLInputElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const { sending, problem, add, forget, remove } = useUploads({
    ...{ value, field, surroundings },
    saved: (files) => stored(field.id, files),
  })
  const files = valuesOf(value, isFile)
  const added = useRef(dropped)
  useEffect(() => {
    if (!dropped || dropped === added.current || dropped.field !== field.id) return
    added.current = dropped
    add(dropped.files)
  })
  return (
    <div className="record-field" data-type="file" data-field={field.id} data-takes-files={isEditable ? '' : undefined}>
      <span className="record-label" id={labelId} dir="auto">
        {field.name}
      </span>
      <div className="record-files">
        {files.length + sending.length > 0 && (
          <ul aria-labelledby={labelId}>
            {files.map((file) => (
              <FileTile
                key={file.path}
                file={file}
                locale={surroundings.locale}
                remove={
                  isEditable
                    ? () => {
                        // The button goes with its file.
                        button.current?.focus()
                        void remove(file)
                      }
                    : undefined
                }
              />
            ))}
            {sending.map((one) => (
              <SendingTile key={one.key} sending={one} forget={() => forget(one.key)} />
            ))}
          </ul>
        )}
        {problem && (
          <p className="record-problem" role="alert">
            {problem}
          </p>
        )}
        {isEditable ? (
          <button ref={button} type="button" className="button small record-choose" onClick={() => chooser.current?.click()}>
            <Icon name="upload" />
            {cellTexts.chooseFiles}
            <span className="visually-hidden">{recordTexts.forField(field.name)}</span>
          </button>
        ) : (
          files.length === 0 && <span className="record-empty">–</span>
        )}
        <input
          ref={chooser}
          type="file"
          multiple
          hidden
          aria-label={field.name}
          onChange={({ target }) => {
            add([...(target.files ?? [])])
            // The same file can be chosen again.
            target.value = ''
          }}
        />
      </div>
    </div>
  )
}

function FileTile({ file, locale, remove }: { file: StoredFile; locale: string; remove: (() => void) | undefined }) {
  const { name, path, size } = file
  const address = fileAddress(path)
  return (
    <li className="file-tile">
      <a className="file-open" href={address} target="_blank" rel="noopener noreferrer" title={name}>
        <span className="file-preview">
          {hasThumbnail(file) ? <img src={thumbnailAddress(path, 320)} alt="" loading="lazy" /> : <Icon name="file" />}
        </span>
        <span className="file-name" dir="auto">
          {name}
        </span>
      </a>
      <span className="file-foot">
        <span className="file-size">{sizeText(size, locale)}</span>
        <a className="button quiet small icon-only" href={address} download={name} aria-label={recordTexts.download(name)}>
          <Icon name="download" />
        </a>
        {remove && (
          <button type="button" className="button quiet small icon-only" aria-label={cellTexts.remove(name)} onClick={remove}>
            <Icon name="trash-2" />
          </button>
        )}
      </span>
    </li>
  )
}

function SendingTile({ sending: { name, sent, problem }, forget }: { sending: Sending; forget(): void }) {
  return (
    <li className="file-tile" data-refused={problem ? '' : undefined}>
      <span className="file-preview">
        <Icon name={problem ? 'circle-alert' : 'upload'} />
      </span>
      <span className="file-name" dir="auto" title={name}>
        {name}
      </span>
      {problem ? (
        <span className="file-foot">
          <span className="file-problem" role="alert">
            {problem}
          </span>
          <button type="button" className="button quiet small icon-only" aria-label={cellTexts.forget(name)} onClick={forget}>
            <Icon name="x" />
          </button>
        </span>
      ) : (
        <progress value={sent} max={1} aria-label={cellTexts.uploading(name)} />
      )}
    </li>
  )
}
