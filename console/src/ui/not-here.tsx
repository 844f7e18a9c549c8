/** The one page for what does not exist and for what one may not see: the service does not tell these apart either. */
import { Link } from '@tanstack/react-router'
import { appTexts } from '../texts/app.ts'
import { Notice } from './notice.tsx'
import { useTitle } from './title.ts'

export function NotHere() {
  useTitle(appTexts.notHere)
  return (
    <Notice
      title={appTexts.notHere}
      actions={
        <Link to="/" className="button">
          {appTexts.toStart}
        </Link>
      }
    >
      <p>{appTexts.notHereWhy}</p>
    </Notice>
  )
}
