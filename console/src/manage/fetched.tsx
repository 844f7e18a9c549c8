/** What stands in the place of a list that is not there yet, or could not be read. */
import { messageOf } from '../session/errors.ts'
import { appTexts } from '../texts/app.ts'

interface Props {
  query: { isPending: boolean; error: unknown; refetch: () => unknown }
  /** Said when the service refuses the list. */
  refused?: string
}

export function Fetched({ query: { isPending, error, refetch }, refused }: Props) {
  if (error) {
    return (
      <p className="problem" role="alert">
        {refused ?? messageOf(error)}{' '}
        {refused === undefined && (
          <button type="button" className="button small" onClick={() => void refetch()}>
            {appTexts.retry}
          </button>
        )}
      </p>
    )
  }
  return isPending ? <output className="hint loading-line">{appTexts.loading}</output> : null
}
