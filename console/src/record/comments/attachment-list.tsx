import { fileAddress, hasThumbnail, sizeText, thumbnailAddress } from '../../cells/file-facts.ts'
import type { StoredFile } from '../../cells/kind.ts'
import { commentTexts } from '../../texts/record/comments.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import type { Upload } from './use-attachments.ts'

interface Props {
  files: readonly StoredFile[]
  locale: string
  /** Files on their way. */
  uploads?: readonly Upload[]
  remove?: ((file: StoredFile) => void) | undefined
  forget?: (key: number) => void
}

/** The files of a comment, as pictures where there are some. */
export function AttachmentList({ files, locale, uploads = [], remove, forget }: Props) {
  if (!files.length && !uploads.length) return null
  return (
    <ul className="attachments">
      {files.map((file) => (
        <li key={file.path} className="attachment">
          <a href={fileAddress(file.path)} target="_blank" rel="noopener noreferrer">
            {hasThumbnail(file) ? <img src={thumbnailAddress(file.path, 160)} alt="" loading="lazy" /> : <Icon name="file" />}
            <bdi>{file.name}</bdi>
          </a>
          <span className="attachment-size">{sizeText(file.size, locale)}</span>
          {remove && <Remove label={commentTexts.remove(file.name)} run={() => remove(file)} />}
        </li>
      ))}
      {uploads.map(({ key, name, sent, problem }) => (
        <li key={key} className="attachment">
          <Icon name={problem === null ? 'upload' : 'circle-alert'} />
          <bdi>{name}</bdi>
          {problem === null ? (
            <progress value={sent} max={1} aria-label={commentTexts.uploading(name)} />
          ) : (
            <span className="attachment-problem" role="alert">
              {problem}
            </span>
          )}
          <Remove label={commentTexts.remove(name)} run={() => forget?.(key)} />
        </li>
      ))}
    </ul>
  )
}

function Remove({ label, run }: { label: string; run(): void }) {
  return (
    <button type="button" className="button quiet small icon-only" aria-label={label} onClick={run}>
      <Icon name="x" />
    </button>
  )
}
