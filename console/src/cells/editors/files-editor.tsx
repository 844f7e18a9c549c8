import { type KeyboardEvent, useLayoutEffect, useRef, useState } from 'react'
import { cellTexts } from '../../texts/cells.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { AnchoredBox } from '../../ui/overlays/anchored-box.tsx'
import type { EditorProps } from '../cell-kind.ts'
import { fileAddress, hasThumbnail, sizeText, thumbnailAddress } from '../file-facts.ts'
import type { StoredFile } from '../kind.ts'
import { hasLeft, moveOf, OWN_EVENTS, useEnding } from './editing.ts'
import { type Sending, useUploads } from './use-uploads.ts'

/** The files of a cell: they are dropped, pasted and chosen here, opened and removed. Each change is stored at once. */
export function FilesEditor(props: EditorProps) {
  const { files, sending, problem, add, forget, remove } = useUploads(props)
  const { end, cancel } = useEnding(props)
  const [isOver, setIsOver] = useState(false)
  const anchor = useRef<HTMLDivElement>(null)
  const chooser = useRef<HTMLInputElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const label = props.label ?? props.field.name

  useLayoutEffect(() => button.current?.focus({ preventScroll: true }), [])

  const keyDown = (event: KeyboardEvent) => {
    event.stopPropagation()
    const move = moveOf(event)
    if (move === 'cancel') return cancel()
    // Tab goes through the controls, and from the last one on to the next cell.
    if ((move !== 'right' && move !== 'left') || !isAtEdge(event, move)) return
    event.preventDefault()
    end(files, move)
  }

  return (
    <div ref={anchor} className="cell-editor">
      <AnchoredBox anchor={anchor} covers label={label} className="cell-box files-box">
        {/* biome-ignore lint/a11y/noStaticElementInteractions: it only takes files, and keeps events of its fields away from the grid */}
        <div
          {...OWN_EVENTS}
          data-over={isOver ? '' : undefined}
          onKeyDown={keyDown}
          onBlur={(event) => hasLeft(event) && end(files, 'stay')}
          onPaste={(event) => {
            event.stopPropagation()
            add([...event.clipboardData.files])
          }}
          onDragOver={(event) => {
            event.preventDefault()
            event.stopPropagation()
            setIsOver(true)
          }}
          onDragLeave={() => setIsOver(false)}
          onDrop={(event) => {
            event.preventDefault()
            event.stopPropagation()
            setIsOver(false)
            add([...event.dataTransfer.files])
          }}
        >
          {files.length + sending.length > 0 && (
            <ul className="files">
              {files.map((file) => (
                <StoredRow
                  key={file.path}
                  file={file}
                  locale={props.surroundings.locale}
                  onRemove={() => {
                    // The button goes with its file.
                    button.current?.focus()
                    void remove(file)
                  }}
                />
              ))}
              {sending.map((one) => (
                <SendingRow key={one.key} sending={one} onForget={() => forget(one.key)} />
              ))}
            </ul>
          )}
          {problem && (
            <p className="cell-note" data-problem="" role="alert">
              {problem}
            </p>
          )}
          <button ref={button} type="button" className="files-choose" onClick={() => chooser.current?.click()}>
            <Icon name="upload" />
            {cellTexts.chooseFiles}
          </button>
          <p className="files-hint">{cellTexts.dropFiles}</p>
          <input
            ref={chooser}
            type="file"
            multiple
            hidden
            aria-label={cellTexts.chooseFiles}
            onChange={({ target }) => {
              add([...(target.files ?? [])])
              // The same file can be chosen again.
              target.value = ''
            }}
          />
        </div>
      </AnchoredBox>
    </div>
  )
}

function StoredRow({ file, locale, onRemove }: { file: StoredFile; locale: string; onRemove(): void }) {
  const { name, path, size } = file
  return (
    <li className="file">
      {hasThumbnail(file) ? <img className="thumb" src={thumbnailAddress(path, 160)} alt="" loading="lazy" /> : <Icon name="file" />}
      <a className="file-name" href={fileAddress(path)} target="_blank" rel="noopener noreferrer" dir="auto">
        {name}
      </a>
      <span className="file-size">{sizeText(size, locale)}</span>
      <button type="button" className="chosen-remove" aria-label={cellTexts.remove(name)} onClick={onRemove}>
        <Icon name="x" />
      </button>
    </li>
  )
}

function SendingRow({ sending: { name, sent, problem }, onForget }: { sending: Sending; onForget(): void }) {
  return (
    <li className="file">
      <Icon name={problem ? 'circle-alert' : 'upload'} />
      <span className="file-name" dir="auto">
        {name}
      </span>
      {problem ? (
        <span className="file-problem" role="alert">
          {problem}
        </span>
      ) : (
        <progress value={sent} max={1} aria-label={cellTexts.uploading(name)} />
      )}
      {problem && (
        <button type="button" className="chosen-remove" aria-label={cellTexts.forget(name)} onClick={onForget}>
          <Icon name="x" />
        </button>
      )}
    </li>
  )
}

/** True if the focus is on the first control, or on the last one, in the direction that Tab goes. */
function isAtEdge({ target, currentTarget }: KeyboardEvent, move: 'right' | 'left'): boolean {
  const controls = [...currentTarget.querySelectorAll('a, button')]
  return target === (move === 'right' ? controls.at(-1) : controls[0])
}
