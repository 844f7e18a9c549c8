/** The attachments of a mail: previews, names, sizes, and how many were left out. */
import { fileAddress, hasThumbnail, sizeText, thumbnailAddress } from '../../cells/file-facts.ts'
import type { StoredFile } from '../../cells/kind.ts'
import { threadTexts } from '../../texts/mail/thread.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { plainName } from '../plain-name.ts'

interface Props {
  files: readonly StoredFile[]
  leftOut: number
  locale: string
}

export function MailFiles({ files, leftOut, locale }: Props) {
  if (!files.length && !leftOut) return null
  return (
    <div className="mail-files">
      {files.length > 0 && (
        <ul aria-label={threadTexts.attachments}>
          {files.map((file) => (
            <li key={file.path} className="mail-file">
              {hasThumbnail(file) ? (
                <img src={thumbnailAddress(file.path, 160)} alt="" loading="lazy" />
              ) : (
                <span className="mail-file-kind">
                  <Icon name="file" />
                </span>
              )}
              <a href={fileAddress(file.path)} target="_blank" rel="noopener noreferrer">
                <bdi>{plainName(file.name)}</bdi>
              </a>
              <span className="mail-file-size">{sizeText(file.size, locale)}</span>
              <a
                className="button quiet icon-only small"
                href={fileAddress(file.path)}
                download={plainName(file.name)}
                aria-label={threadTexts.download(plainName(file.name))}
              >
                <Icon name="download" />
              </a>
            </li>
          ))}
        </ul>
      )}
      {leftOut > 0 && (
        <p className="mail-note">
          <Icon name="paperclip" />
          {threadTexts.leftOut(leftOut)}
        </p>
      )}
    </div>
  )
}
