/** The original of a mail in a page of its own, which the service lets run nothing, load nothing and leave nothing (contract.md §11). */
import { useMemo } from 'react'
import { threadTexts } from '../../texts/mail/thread.ts'
import { Icon } from '../../ui/icons/icon.tsx'
import { useOpened } from '../remembered.ts'

interface Props {
  commentId: number
  subject: string
  /** How many images of it are on other servers. */
  remoteImages: number
  /** Its HTML, by which the first height is guessed: nobody can look into the frame. */
  html: string
}

export function OriginalFrame({ commentId, subject, remoteImages, html }: Props) {
  const [isWhole, setWhole] = useOpened(`${commentId} whole`)
  const [withImages, setImages] = useOpened(`${commentId} images`)
  const height = useMemo(() => firstHeight(html), [html])
  const address = `/api/email/${commentId}/html${withImages ? '?images=remote' : ''}`
  return (
    <div className="mail-original">
      {remoteImages > 0 && (
        <p className="mail-note">
          <Icon name="image" />
          {withImages ? (
            threadTexts.imagesShown
          ) : (
            <>
              {threadTexts.remoteImages(remoteImages)}{' '}
              <button type="button" className="button small" title={threadTexts.imagesTell} onClick={() => setImages(true)}>
                {threadTexts.showImages}
              </button>
            </>
          )}
        </p>
      )}
      <iframe
        key={address}
        src={address}
        title={threadTexts.originalOf(subject)}
        sandbox="allow-popups allow-popups-to-escape-sandbox"
        referrerPolicy="no-referrer"
        data-whole={isWhole ? '' : undefined}
        style={{ height: isWhole ? undefined : height }}
      />
      <p className="mail-actions">
        <button type="button" className="button quiet small" aria-pressed={isWhole} onClick={() => setWhole(!isWhole)}>
          <Icon name={isWhole ? 'chevron-up' : 'chevron-down'} />
          {isWhole ? threadTexts.openLess : threadTexts.openWhole}
        </button>
        <a className="button quiet small" href={address} target="_blank" rel="noopener noreferrer">
          <Icon name="external-link" />
          {threadTexts.ownTab}
        </a>
      </p>
    </div>
  )
}

const LINE = 22
const CHARACTERS_A_LINE = 60
const BLOCK = /<(?:p|br|div|li|tr|h[1-6]|hr|img|blockquote)\b/gi
/** The end of a long mail does not count. */
const MOST_READ = 20_000

/** The height of the mail in pixels, within limits. */
function firstHeight(html: string): number {
  const beginning = html.slice(0, MOST_READ)
  const blocks = beginning.match(BLOCK)?.length ?? 0
  const characters = beginning.replace(/<[^>]*>/g, '').length
  return Math.round(Math.min(480, Math.max(160, 48 + (blocks * 1.5 + characters / CHARACTERS_A_LINE) * LINE)))
}
