/** Says that there is a new release. The router loads it with the next move, so that nothing that is typed is lost. */
import { appTexts } from '../../texts/app.ts'
import { useIsReleaseNew } from '../release.ts'

export function ReleaseNotice() {
  if (!useIsReleaseNew()) return null
  return (
    <output className="release-notice">
      {appTexts.newRelease}{' '}
      <button type="button" className="button small" onClick={() => location.reload()}>
        {appTexts.loadNow}
      </button>
    </output>
  )
}
