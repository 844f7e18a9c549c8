/** What another type would do to the values of a field, before it is done. */
import { fieldTexts } from '../../texts/manage/fields.ts'
import type { Trial } from './use-type-change.ts'

export function TypeTrial({ trial }: { trial: Trial }) {
  if (trial.step === 'refused')
    return (
      <p className="problem" role="alert">
        {trial.message}
      </p>
    )
  if (trial.step === 'counting') return <output className="type-trial">{fieldTexts.counting(trial.done, trial.total)}</output>
  const { converts, failing, examples } = trial.counted
  return (
    <output className={failing ? 'type-trial losing' : 'type-trial'}>
      <p>{fieldTexts.fits(converts, failing)}</p>
      {failing > 0 && (
        <>
          <ul>
            {examples.map((value) => (
              <li key={value} dir="auto">
                {value}
              </li>
            ))}
          </ul>
          {failing > examples.length && <p>{fieldTexts.amongOthers}</p>}
        </>
      )}
    </output>
  )
}

/** How far the values are converted. */
export function Converting({ done, total }: { done: number; total: number }) {
  return (
    <output className="type-trial">
      <progress max={total || undefined} value={total ? done : undefined} aria-label={fieldTexts.changeType} />
      <span>{fieldTexts.converting(done, total)}</span>
      <span className="hint">{fieldTexts.convertingGoesOn}</span>
    </output>
  )
}
