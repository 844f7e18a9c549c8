/** HTML in a frame of its own, in which nothing runs and out of which nothing leads but links, which open beside. */
import { useState } from 'react'

interface Props {
  html: string
  title: string
  className: string
}

const [LEAST, MOST] = [24, 4_000]

const LOOK = 'margin:0;padding:12px;background:#fff;color:#1b1c1f;font:14px/1.45 system-ui,sans-serif;overflow-wrap:anywhere'

/** The page of the frame is white as mails are, whatever the theme. */
const pageOf = (html: string): string =>
  `<!doctype html><html style="color-scheme:light"><head><base target="_blank"></head><body style="${LOOK}">${html}</body></html>`

export function HtmlFrame({ html, title, className }: Props) {
  const [height, setHeight] = useState(LEAST)
  return (
    <iframe
      className={className}
      title={title}
      // Without scripts, being of the same origin does nothing but let its height be read.
      sandbox="allow-same-origin allow-popups allow-popups-to-escape-sandbox"
      referrerPolicy="no-referrer"
      srcDoc={pageOf(html)}
      style={{ height }}
      onLoad={({ currentTarget }) => {
        const shown = currentTarget.contentDocument?.documentElement.scrollHeight ?? LEAST
        setHeight(Math.max(LEAST, Math.min(MOST, shown)))
      }}
    />
  )
}
